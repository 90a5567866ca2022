/** @file The command of PaddleRec's documents as it is typed there, from a folder that has nothing to do with the model. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { alive, eventsOf, ofKind, removeLeft, run } from './launch.testing.ts'

const CONFIG = fileURLToPath(new URL('../../models/rank/dnn/config.yaml', import.meta.url))
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-fleetrun-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  removeLeft('/')
})

const args = (...flags: string[]) => [
  ...['--json', '--log_dir', join(folder, 'log'), ...flags, 'tools/static_ps_trainer.py', '-m', CONFIG],
  ...['-o', `runner.model_save_path=${join(folder, 'out')}`],
]

test('fleetrun --worker_num=1 --server_num=1 tools/static_ps_trainer.py trains, run from /', async () => {
  const { code, out, mark } = await run('fleetrun', args('--worker_num=1', '--server_num=1'), { cwd: '/' })
  expect([code, alive(mark)]).toEqual([0, []])
  const events = eventsOf({ out })
  expect(ofKind(events, 'notice')[0]!.message).toContain('runs as: oarfish tool static_ps_trainer -m ')
  expect(ofKind(events, 'output').some(({ line }) => /epoch: 2 done, .*auc: 0\.\d+/.test(line))).toBe(true)
  expect(await readFile(join(folder, 'log/train_result_dict.txt'), 'utf8')).toMatch(
    /^\{'speed': \[[\d.]+, [\d.]+, [\d.]+\], 'auc': \[0\.\d+, 0\.\d+, 0\.\d+\]\}$/,
  )
  expect(await readFile(join(folder, 'log/0_worker_main_program.prototxt'), 'utf8')).toMatch(
    /^%\d+ = feed .*\n(.*\n)+fetch .*\n$/,
  )
  expect(await readFile(join(folder, 'log/0_worker_startup_program.prototxt'), 'utf8')).toMatch(
    /\ntable .*, rows of 9 = \{"kind":/,
  )
  const lines = ofKind(events, 'output').map(({ line }) => line)
  expect(lines.some((line) => /File: .*part-000 has \d+ examples/.test(line))).toBe(true)
  expect(lines.some((line) => /Total example: \d+/.test(line))).toBe(true)
  // The server knew by itself that its workers are done.
  expect(ofKind(events, 'process').filter(({ state }) => state === 'done')).toHaveLength(2)
})

test('a server that is killed while two workers train is named as the first that failed', async () => {
  let killed = 0
  const { code, out, mark } = await run(
    'fleetrun',
    [...args('--max_restart=0', '--worker_num=2', '--server_num=1'), 'runner.epochs=10000'],
    {
      cwd: '/',
      onOutput: (all) => {
        if (killed > 0 || !all.includes('epoch: 0, batch_id: 10')) return
        const events = eventsOf({ out: all.slice(0, all.lastIndexOf('\n') + 1) })
        killed = ofKind(events, 'process').find(({ role }) => role === 'server')!.pid
        process.kill(killed, 'SIGKILL')
      },
    },
  )
  expect(code, out).toBe(137)
  expect(alive(mark)).toEqual([])
  expect(ofKind(eventsOf({ out }), 'error')[0]!.message).toMatch(
    new RegExp(`^server 0 127\\.0\\.0\\.1:\\d+ \\(pid ${killed}\\) failed first: signal SIGKILL\\.`),
  )
})
