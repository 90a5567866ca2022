/** @file `kill -USR1`: a process that trains prints where each of its threads is, and trains on. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { oarfish } from '../oarfish.testing.ts'
import { tinyFolder } from './tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(128_000)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a process that trains prints where its threads are, and trains on', async () => {
  let isAsked = false
  const overrides = ['runner.print_interval=10', `runner.model_save_path=${join(folder, 'saved')}`, 'runner.epochs=2']
  const { code, out, err } = await oarfish(
    ['train', '-m', 'config.yaml', '--json', '-o', ...overrides],
    folder,
    (text, child) => {
      if (isAsked || !text.includes('"kind":"batch"')) return
      isAsked = true
      child.kill('SIGUSR1')
    },
  )
  expect([code, out.includes('"kind":"done"')], err).toEqual([0, true])
  expect(err).toMatch(/^Threads of process \d+, \S+:\nmain: runs its event loop, which waits for .*\n/m)
  expect(err).toMatch(/^\[worker \d+\] reader-0: /m)
})
