/** @file Who started a process is gone: before it came up, while it runs, or never. */
import { spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LIFELINE, watchLifeline } from './lifeline.ts'

const gone = spawnSync(process.execPath, ['-e', '0']).pid
let folder: string
let fd: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-lifeline-'))
  spawnSync('mkfifo', [join(folder, 'pipe')])
  fd = openSync(join(folder, 'pipe'), constants.O_RDWR | constants.O_NONBLOCK)
})
afterEach(() => {
  closeSync(fd)
  rmSync(folder, { recursive: true })
})

const watched = async (launcher: number, parentPid: number) => {
  const onLost = vi.fn()
  void watchLifeline({ env: { [LIFELINE]: `${launcher}:${fd}` }, parentPid, onLost, leave: () => undefined })
  await new Promise((done) => setImmediate(done))
  await new Promise((done) => setImmediate(done))
  return onLost.mock.calls.length
}

test('a launcher that was killed while its process came up takes it along', async () => {
  expect(await watched(gone, 1)).toBe(1)
})

test('what a process of a living launcher has started is not watched', async () => {
  expect(await watched(process.pid, process.ppid)).toBe(0)
})
