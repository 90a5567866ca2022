/** @file What is remembered of requests, and for how long. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openNonces } from './nonces.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nonces-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a nonce is known after a restart, until its time is over', () => {
  const file = join(folder, 'nonces')
  let now = 1000
  const clock = () => now
  const first = openNonces(file, { clock })
  expect([first.add('a', 2000), first.add('b', 5000), first.add('a', 2000)]).toEqual(['new', 'new', 'seen'])
  first.close()
  writeFileSync(file, '3000 cut-o', { flag: 'a' })
  const second = openNonces(file, { clock })
  expect([second.add('a', 2000), second.add('b', 5000)]).toEqual(['seen', 'seen'])
  now = 2001
  expect(second.add('a', 3000)).toBe('new')
  second.close()
})

test('so many are remembered and no more, and the file stays small', () => {
  const file = join(folder, 'nonces')
  let now = 0
  const nonces = openNonces(file, { clock: () => now, most: 3, compactLines: 20 })
  expect(['a', 'b', 'c', 'd'].map((nonce) => nonces.add(nonce, 10))).toEqual(['new', 'new', 'new', 'full'])
  for (let i = 1; i <= 200; i++) {
    now = i * 20
    nonces.add(`${i}${'x'.repeat(1000)}`, now + 10)
  }
  nonces.close()
  expect(readFileSync(file).length).toBeLessThan(1000)
})
