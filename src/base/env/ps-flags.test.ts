/** @file Paddle's flags of parameter servers. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PS_FLAGS, psFlags, silenceSetting } from './ps-flags.ts'

test('each flag has its row in docs/guide/parameter-server.md', () => {
  const page = readFileSync(new URL('../../../docs/guide/parameter-server.md', import.meta.url), 'utf8')
  for (const { name, effect, why } of PS_FLAGS)
    expect(page).toContain(`| \`${name}\` | ${effect === 'honoured' ? 'honoured' : 'no effect'} | ${why} |`)
})

test.each([
  [{}, undefined],
  [{ FLAGS_rpc_deadline: '20000' }, 20_000],
  // Ten hours, as pods have it: a request may take that long, silence may not.
  [{ FLAGS_rpc_deadline: '36000000' }, 60_000],
  [{ FLAGS_rpc_deadline: '300' }, 1000],
  [{ FLAGS_rpc_deadline: '20000', OARFISH_SILENCE_LIMIT: '3.5' }, 3500],
])('with %j a process may be silent for %s ms', (env, ms) => {
  expect(silenceSetting(env)).toBe(ms)
})

test.each(['0', 'soon', '1e9'])('OARFISH_SILENCE_LIMIT=%s is refused', (text) => {
  expect(() => silenceSetting({ OARFISH_SILENCE_LIMIT: text })).toThrow(
    `OARFISH_SILENCE_LIMIT: expected seconds from 1 to 86400, got "${text}"`,
  )
})

test('FLAGS_rpc_deadline bounds the wait for a live server', () => {
  expect(psFlags({})).toEqual({})
  expect(psFlags({ FLAGS_rpc_deadline: '36000000' })).toEqual({ requestTimeoutMs: 36_000_000 })
  expect(() => psFlags({ FLAGS_rpc_deadline: 'soon' })).toThrow(
    'FLAGS_rpc_deadline: it is "soon", expected milliseconds',
  )
})
