/** @file The list of runs: which sweep made them, how far that will go, and the rates of jobs and processes. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runPaths, sweepFile } from '../../base/runs/index.ts'
import { Answers } from './answers.ts'
import { writeRun } from './example-run.testing.ts'
import { openDashboard } from './index.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-list-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const answers = () => new Answers({ folders: [folder], version: '0' })

test('runs of two sweeps with the same names are told apart; a sweep says what it tries and how far it goes', () => {
  const plan = { strategy: 'halving', set: ['hyper_parameters.learning_rate=log:1e-4..1e-2'], seed: 1 }
  for (const name of ['first', 'second', 'old', 'broken']) writeRun(join(folder, name, 'runs/run-000'), { rows: 5 })
  writeRun(join(folder, 'runs/alone'), { rows: 5 })
  const rungs = [
    { epochs: 1, runs: 9 },
    { epochs: 3, runs: 3 },
  ]
  for (const name of ['first', 'second'])
    writeFileSync(sweepFile(join(folder, name)), JSON.stringify({ ...plan, rungs, metric: 'auc' }))
  writeFileSync(sweepFile(join(folder, 'old')), JSON.stringify(plan))
  writeFileSync(sweepFile(join(folder, 'broken')), '{"set": 7, "rungs": [null')
  const { runs, sweeps } = answers().index.list()
  const named = (name: string) => `${folder.split('/').at(-1)}/${name}`
  expect(runs.map(({ name, sweep }) => `${name} ${sweep}`).sort()).toEqual(
    [
      `alone ${undefined}`,
      `run-000 ${undefined}`,
      ...['first', 'old', 'second'].map((one) => `run-000 ${named(one)}`),
    ].sort(),
  )
  const keys = ['hyper_parameters.learning_rate']
  expect(sweeps).toHaveLength(3)
  expect(sweeps.find(({ name }) => name === named('first'))).toEqual({
    ...{ name: named('first'), strategy: 'halving', keys, metric: 'auc', rungs },
  })
  expect(sweeps.find(({ name }) => name === named('old'))).toMatchObject({ keys, rungs: [] })
})

test('a job trains as fast as its workers together while it runs, each process as fast as itself when it is over', () => {
  const own = join(folder, 'runs/job')
  writeRun(own, { rows: 60, workers: 3, state: 'running' })
  const all = answers()
  const [row] = all.index.list().runs
  expect(row!.samplesPerSecond).toBe(450_000)
  const path = runPaths(own).status('worker-0')
  const status = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, JSON.stringify({ ...status, state: 'done', samplesPerSecond: 440_000 }))
  const over = answers()
  expect(over.index.list().runs[0]!.samplesPerSecond).toBe(440_000)
  const processes = over.detail(row!.id)!.processes
  expect(processes.find(({ name }) => name === 'worker-0')!.samplesPerSecond).toBe(150_000)
})

test('online training has passes, of how many it does not know', () => {
  const own = join(folder, 'runs/online')
  writeRun(own, { rows: 20, state: 'running' })
  const path = runPaths(own).status('local')
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), epoch: 6, epochs: 1 }))
  const [row] = answers().index.list().runs
  expect([row!.epoch, row!.epochs, row!.progress]).toEqual([6, undefined, undefined])
})

test('who does not take gzip gets plain text', async () => {
  mkdirSync(join(folder, 'runs'))
  const page = join(folder, 'index.html')
  writeFileSync(page, '<script>1</script>')
  const { url, close } = await openDashboard({ folders: [folder], version: '0', port: 0, page })
  const asked = async (encoding: string) => {
    const response = await fetch(new URL('/api/runs', url), { headers: { 'accept-encoding': encoding } })
    return [response.headers.get('content-encoding'), ((await response.json()) as { version: string }).version]
  }
  expect(await asked('identity')).toEqual([null, '0'])
  expect(await asked('gzip')).toEqual(['gzip', '0'])
  await close()
})
