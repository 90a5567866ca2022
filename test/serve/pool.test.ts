/** @file Threads that score: what happens when one is lost. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CPU } from '../../src/base/device/index.ts'
import { ScorerPool } from '../../src/inference/serve/pool.ts'
import { type Exported, exported, testLines } from '../export/exported.testing.ts'
import { remove, until } from './client.testing.ts'

let made: Exported
beforeAll(async () => {
  made = await exported('tiny')
})
afterAll(() => remove(made.folder))

test('a thread that is lost answers 500 for what it had, and another takes its place', async () => {
  const lost: Error[] = []
  const onLost = (error: Error) => lost.push(error)
  const pool = await ScorerPool.open({
    model: { kind: 'folder', folder: made.out },
    threads: 2,
    fillMissing: true,
    device: CPU,
    onLost,
  })
  const [line] = await testLines(made.folder)
  const good = { kind: 'text', answer: 'json', body: new TextEncoder().encode(line) } as const
  const crash = pool.score({ length: 2 } as never) // no list: the thread fails on it outside of any request
  expect((await crash).map(({ status }) => status)).toEqual([500, 500])
  expect(lost).toHaveLength(1)
  await until(() => pool.free, 'a thread')
  const scored = await Promise.all(Array.from({ length: 6 }, () => pool.score([good])))
  expect(scored.flat().map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
  await pool.close()
})
