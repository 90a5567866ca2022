/** @file Which processes a stop ends: those of the job that a pid file names, and never another that has the number now. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { processStart } from '../../base/util/index.ts'
import { runningProcesses, startProcess, stopProcesses } from './host-processes.ts'
import type { Note } from './protocol.ts'

let folder: string
let stranger: ChildProcess
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-pids-'))
  mkdirSync(join(folder, 'log'))
  stranger = spawn('sleep', ['60'], { detached: true })
})
afterEach(() => {
  stranger.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const start = (job: string, command: readonly string[], notes: Note[] = []) =>
  startProcess(
    { job, role: 'worker', rank: 0, folder, command, env: {}, libraryPath: '', log: `log/${job}.log` },
    { env: { PATH: process.env['PATH'] }, onNote: (note) => notes.push(note) },
  )

test('a stop ends the processes of its job, with all they started, and no other', async () => {
  const notes: Note[] = []
  start('JOB1', ['sh', '-c', 'sleep 61 & wait'], notes)
  const other = start('JOB2', ['sleep', '62'])
  expect(runningProcesses(folder)).toHaveLength(2)
  const request = { folder, role: 'worker', stopMs: 30_000 } as const
  expect((await stopProcesses({ ...request, job: 'JOB1' })).stopped).toHaveLength(1)
  expect(runningProcesses(folder)).toMatchObject([{ job: 'JOB2', pid: other.pid }])
  await expect.poll(() => notes.at(-1)).toMatchObject({ kind: 'ended', text: 'signal SIGTERM', code: 143 })
  await stopProcesses({ ...request, job: 'JOB2' })
  await expect.poll(() => readdirSync(join(folder, 'log')).sort()).toEqual(['JOB1.log', 'JOB2.log'])
})

test('a process that does not end by itself is killed', async () => {
  start('JOB1', ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done'])
  await expect.poll(() => readFileSync(join(folder, 'log/JOB1.log'), 'utf8')).toContain('ready')
  const { stopped } = await stopProcesses({ folder, job: 'JOB1', role: 'worker', stopMs: 200 })
  expect(stopped).toHaveLength(1)
})

test('a pid file whose number belongs to somebody else by now ends nobody', async () => {
  const pid = stranger.pid!
  const file = { job: 'JOB1', role: 'worker', rank: 0, pid, start: `${processStart(pid)}0` }
  writeFileSync(join(folder, 'log/train.log.pid'), JSON.stringify(file))
  writeFileSync(join(folder, 'log/server.log.pid'), '{"job":')
  expect(await stopProcesses({ folder, job: 'JOB1', role: 'worker', stopMs: 100 })).toEqual({ stopped: [] })
  expect(processStart(pid)).toBeDefined()
})
