/** @file Run folders as commands leave them: of one process, of a launched job, of none; and what `oarfish runs` makes of them. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCurves, readEvents, readRun, runPaths } from '../../src/base/runs/index.ts'
import { oarfish } from '../oarfish.testing.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-run-folder-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MODEL = ['-m', 'paddlerec.models.rank.dnn', '-o', 'runner.print_interval=1', 'runner.epochs=1']
const run = (...args: string[]) => oarfish(args, folder)

test('train writes a folder beside the models, unless it is told not to or keeps no models', async () => {
  expect((await run('train', ...MODEL, 'runner.model_save_path=', 'runner.thread_num=1')).code).toBe(0)
  expect((await run('train', ...MODEL, '--no-run-dir')).code).toBe(0)
  expect(readdirSync(folder)).toEqual(['output_model_dnn'])
  expect((await run('train', ...MODEL, '--name', 'first')).code).toBe(0)
  const { state, lead, meta } = readRun(join(folder, 'runs/first'))!
  expect([state, meta.source.overrides.includes('runner.epochs=1')]).toEqual(['done', true])
  expect(lead!.evaluation!['auc']).toBeGreaterThan(0.5)
  const { names, rows } = readCurves(runPaths(join(folder, 'runs/first')).curveFile('local'))
  expect(rows).toBe(32 + 4)
  expect(names).toEqual(expect.arrayContaining(['loss', 'auc', 'samplesPerSecond', 'time.run', 'time.lookup']))
})

test('a job of servers and workers writes one folder, the launcher adds what it saw', async () => {
  const launched = ['launch', '--server_num=1', '--worker_num=2', '--name', 'job', '--log_dir', 'log']
  const { code, out } = await run(...launched, 'tools/static_ps_trainer.py', ...MODEL, 'runner.sync_mode=async')
  expect(out, out).toContain('done')
  expect(code).toBe(0)
  const { processes, state } = readRun(join(folder, 'runs/job'))!
  expect([state, processes.map(({ name }) => name)]).toEqual(['done', ['server-0', 'worker-0', 'worker-1']])
  const { events } = readEvents(runPaths(join(folder, 'runs/job')).eventFile('launcher'))
  const ended = events.filter((event) => event.kind === 'process' && event.state === 'done')
  expect(ended.length).toBeGreaterThanOrEqual(2)
  // By these a page knows whose the logs are.
  expect(readdirSync(join(folder, 'log')).filter((name) => name.endsWith('.run'))).toContain('.workerlog.0.run')
})

test('runs lists, filters, compares, tags and deletes', async () => {
  expect((await run('train', ...MODEL, 'hyper_parameters.optimizer.learning_rate=0.01', '--name', 'second')).code).toBe(
    0,
  )
  const { out } = await run('runs')
  for (const name of ['first', 'second', 'job']) expect(out).toMatch(new RegExp(`^${name} +done `, 'm'))
  expect((await run('runs', 'tag', 'second', 'keep')).out).toBe('second: keep\n')
  const kept = (await run('runs', 'list', '--filter', 'keep learning_rate=0.01')).out
  expect(kept.split('\n')).toHaveLength(3)
  const compared = (await run('runs', 'compare', 'first', 'second')).out
  expect(compared).toMatch(/^hyper_parameters\.optimizer\.learning_rate +0\.001 +0\.01$/m)
  expect(compared).not.toContain('train_batch_size')
  expect((await run('runs', 'rm', 'second')).code).toBe(0)
  expect(existsSync(join(folder, 'runs/second'))).toBe(false)
  const wrong = await run('runs', 'rm', 'frist')
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('Did you mean first?')])
})
