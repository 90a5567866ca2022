/** @file Paddle's flags of parameter servers. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PS_FLAGS, psFlags } from './ps-flags.ts'

test('each flag has its row in docs/parameter-server.md', () => {
  const page = readFileSync(new URL('../../docs/parameter-server.md', import.meta.url), 'utf8')
  for (const { name, effect, why } of PS_FLAGS)
    expect(page).toContain(`| \`${name}\` | ${effect === 'honoured' ? 'honoured' : 'no effect'} | ${why} |`)
})

test('FLAGS_rpc_deadline bounds the wait for a live server', () => {
  expect(psFlags({})).toEqual({})
  expect(psFlags({ FLAGS_rpc_deadline: '36000000' })).toEqual({ requestTimeoutMs: 36_000_000 })
  expect(() => psFlags({ FLAGS_rpc_deadline: 'soon' })).toThrow(
    'FLAGS_rpc_deadline: it is "soon", expected milliseconds',
  )
})
