/** @file launch() of the library: jobs with servers and among ranks, started by this process, and programs that take their part with train(). */

import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Event, launch, train } from '../../src/index.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { noneAlive } from './launch.testing.ts'

vi.setConfig({ testTimeout: 200_000 })

let folder: string
let config: string
const mark = randomUUID()
const env = { OARFISH_TEST_MARK: mark }
beforeAll(async () => {
  folder = await tinyFolder()
  config = join(folder, 'config.yaml')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Where this job keeps its things. */
const own = (name: string, runner = {}) => ({
  logDir: join(folder, name, 'log'),
  set: { runner: { model_save_path: join(folder, name, 'saved'), ...runner } },
  env,
})

test('workers and a server train a config; the first one’s events and result are the job’s', async () => {
  const events: Event[] = []
  const onEvent = (event: Event) => events.push(event)
  const job = { config, ...own('servers', { sync_mode: 'sync' }), onEvent }
  const { evaluation, metrics, ...result } = await launch({ ...job, servers: 1, workers: 2 })
  expect(result).toMatchObject({ interrupted: false, logDir: job.logDir })
  expect(evaluation!['auc']).toBeGreaterThan(0.6)
  expect(metrics['loss']).toBeLessThan(1)
  const ended = events.filter((event) => event.kind === 'process' && event.state !== 'running')
  expect(ended.filter((event) => event.kind === 'process' && event.role === 'worker')).toHaveLength(2)
  expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['start', 'ready', 'epoch', 'saved', 'done']))
  expect(await noneAlive(mark)).toEqual([])
})

test('ranks train a config about as well as one process', async () => {
  const one = await train({ config, set: own('one', { train_batch_size: 48 }).set })
  const job = own('ranks', { train_batch_size: 24 })
  const { metrics, evaluation } = await launch({ config, ranks: 2, ...job })
  expect(metrics['loss']).toBeGreaterThan(0)
  expect(evaluation!['auc']).toBeCloseTo(one.evaluation!['auc']!, 1)
  expect(await noneAlive(mark)).toEqual([])
})

test('a program’s train() takes the part of each process', async () => {
  const script = join(folder, 'program.ts')
  const job = own('script')
  await writeFile(
    script,
    `import { train } from 'oarfish'
const [, , config, saved] = process.argv
const { samples } = await train({ config: config!, set: { runner: { model_save_path: saved! } } })
console.log(\`\${process.env['TRAINING_ROLE']} \${samples > 0 ? 'trained' : 'served'}\`)
`,
  )
  const lines: string[] = []
  const onEvent = (event: Event) => event.kind === 'output' && lines.push(event.line)
  const { logDir, set } = job
  const args = [script, config, set.runner.model_save_path] as const
  await launch({ script: args, servers: 1, workers: 2, logDir, env, onEvent })
  expect(lines).toContain('TRAINER trained')
  expect(await noneAlive(mark)).toEqual([])
})

test('a job that is asked to stop ends in good order', async () => {
  const job = own('stopped', { epochs: 500, print_interval: 1 })
  const run = launch({ config, servers: 1, workers: 1, ...job })
  for await (const { kind } of run) if (kind === 'batch') run.stop()
  expect(await run).toMatchObject({ interrupted: true })
  expect(await noneAlive(mark)).toEqual([])
})

test('a process that fails ends the job, by name and with its reason', async () => {
  await writeFile(join(folder, 'broken.ts'), `throw new Error('no such luck')\n`)
  const { logDir } = own('broken')
  const failed = launch({ script: [join(folder, 'broken.ts')], ranks: 2, logDir, env })
  await expect(failed).rejects.toMatchObject({
    code: 'LAUNCH_FAILED',
    message: expect.stringMatching(/^The job failed: worker\[\d\] failed with exit code 1/),
    hint: expect.stringContaining(logDir),
  })
  const dry = launch({ config, ranks: 1, ...own('missing', { train_data_dir: 'nowhere' }) })
  await expect(dry).rejects.toThrow(/train_data_dir/)
  expect(await noneAlive(mark)).toEqual([])
})
