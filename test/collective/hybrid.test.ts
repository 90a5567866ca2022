/** @file Hybrid training by real processes: dense weights in step between workers, rows on servers; saving, going on, failing. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventsOf, ofKind, run } from '../cluster/launch.testing.ts'
import { type JobOptions, startJob, training } from '../ps/job.testing.ts'
import { BATCH, savedWeights, writeGlobalBatches } from '../train/global-batches.testing.ts'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { expectWithin } from '../within.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

/** The losses of rows and of dense weights do not touch: what becomes of the dense weights is known exactly. */
const MODEL = `
import { optimizer, z } from 'oarfish'
import { add, mean, sum } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export const hyperParameters = z.strictObject({ rule: z.enum(['sgd', 'clipped']) })
export class StaticModel {
  constructor(hyper) { this.rule = hyper.rule }
  createFeeds({ label, sparse, dense }) { return { click: label('click'), user: sparse('user'), item: sparse('item'), x: dense('x', 2) } }
  net({ click, user, item, x }) {
    const wide = sum(nn.embedding([user, item], { name: 'wide', dim: 1 }), [1], true)
    const hidden = nn.linear(x, { name: 'hidden', out: 8, activation: 'tanh' })
    const deep = nn.linear(hidden, { name: 'out', out: 1 })
    const loss = (logit) => mean(nn.sigmoidCrossEntropy(logit, click))
    return { loss: add(loss(deep), loss(wide)) }
  }
  createOptimizer() {
    return optimizer.sgd({ learningRate: 0.05, ...(this.rule === 'clipped' && { clip: { kind: 'norm', max: 0.1 } }) })
  }
}
`

const CONFIG = `
runner:
  train_data_dir: data/train
  train_batch_size: ${BATCH}
  model_save_path: ""
hyper_parameters:
  rule: sgd
`

const STEPS = 60
const DENSE = 2 * 8 + 8 + 8 + 4 // the last bias is padded to four

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(160)
  await writeFile(join(folder, 'static_model.ts'), MODEL)
  await writeFile(join(folder, 'config.yaml'), CONFIG)
  await writeGlobalBatches(join(folder, 'two'), 2, STEPS)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const start = (options: Partial<JobOptions>) =>
  startJob({
    ...{ path: join(folder, 'config.yaml'), workers: 2, servers: 2, workersListen: true, ...options },
    overrides: ['runner.fleet_mode=hybrid', ...(options.overrides ?? [])],
  })

const ownData = (name: string) => ({
  'worker 0': { overrides: [`runner.train_data_dir=${folder}/${name}/0`] },
  'worker 1': { overrides: [`runner.train_data_dir=${folder}/${name}/1`] },
})

test('dense weights of two workers are those of one process with twice the batch; rows learn; one process and two workers go on', async () => {
  const save = `runner.model_save_path=${folder}/hybrid`
  const job = await start({ own: ownData('two'), overrides: [save], options: { digest: true } })
  await job.success()
  const single = [`runner.train_data_dir=${folder}/two/all`, `runner.train_batch_size=${2 * BATCH}`]
  const alone = await trainTiny(folder, [...single, `runner.model_save_path=${folder}/single`])
  const [expected, found] = [
    await savedWeights(folder, `${folder}/single/0`, single),
    await savedWeights(folder, `${folder}/hybrid/0`, single),
  ]
  expect(found.length).toBe(expected.length)
  const off = (from: number, to?: number) =>
    Math.max(...found.slice(from, to).map((value, i) => Math.abs(value - expected[from + i]!)))
  expect(off(0, DENSE)).toBeLessThan(1e-5)
  // Each worker's gradients are a step of their own: rows have gone about twice as far.
  expect(off(DENSE)).toBeGreaterThan(1e-4)
  const done = job.named('worker 1').events.find(({ kind }) => kind === 'done') as { samples: number }
  expect(done.samples).toBe(alone.result.samples)
  expect(JSON.stringify(job.named('worker 0').events)).toContain('averaged among the workers by ring of 2')

  const again = await start({ own: ownData('two'), overrides: [save, 'runner.epochs=2'], options: { resume: true } })
  await again.success()
  const more = [...single, `runner.model_save_path=${folder}/single`, 'runner.epochs=2']
  await trainTiny(folder, more, { resume: true })
  const [further, gone] = [
    await savedWeights(folder, `${folder}/single/1`, single),
    await savedWeights(folder, `${folder}/hybrid/1`, single),
  ]
  expect(Math.max(...gone.slice(0, DENSE).map((value, i) => Math.abs(value - further[i]!)))).toBeLessThan(1e-5)
  const one = await trainTiny(folder, [save, ...single, 'runner.epochs=3'], { resume: true })
  expect(one.result.samples).toBe(2 * BATCH * STEPS)
})

test('workers with little and with much data end together, with gradients clipped by each', async () => {
  await writeGlobalBatches(join(folder, 'short'), 1, 10)
  await writeGlobalBatches(join(folder, 'long'), 1, 30)
  const job = await start({
    servers: 1,
    overrides: ['hyper_parameters.rule=clipped'],
    own: {
      'worker 0': { overrides: [`runner.train_data_dir=${folder}/short/all`] },
      'worker 1': { overrides: [`runner.train_data_dir=${folder}/long/all`] },
    },
  })
  await job.success()
  const done = job.named('worker 0').events.find(({ kind }) => kind === 'done') as { samples: number }
  expect(done.samples).toBe(40 * BATCH)
})

test.each(['worker 1', 'server 0'])('when %s is killed, all stop within 5 s', async (victim) => {
  const job = await start({ servers: 1, overrides: ['runner.epochs=100000', 'runner.print_interval=2'] })
  await training(job)
  const killed = performance.now()
  job.named(victim).child.kill('SIGKILL')
  for (const { name, ended } of job.processes) if (name !== victim) expect(await ended).not.toBe(0)
  await expectWithin(performance.now() - killed, 5000)
  expect(JSON.stringify(job.named('worker 0').events.at(-1))).toMatch(/PS_LOST|COLLECTIVE_RANK_LOST|is gone/)
})

test('a worker that is asked to stop stops both', async () => {
  const overrides = ['runner.epochs=100000', 'runner.print_interval=2', `runner.model_save_path=${folder}/stopped`]
  const job = await start({ servers: 1, overrides })
  await training(job)
  job.named('worker 1').child.kill('SIGTERM')
  await job.success()
  for (const name of ['worker 0', 'worker 1'])
    expect(job.named(name).events.map(({ kind }) => kind)).toContain('interrupted')
})

test('fleetrun starts servers and workers of a hybrid job', async () => {
  const args = ['--json', '--worker_num=2', '--server_num=1', `--log_dir=${folder}/log`, 'tools/static_ps_trainer.py']
  const { code, out } = await run('fleetrun', [...args, '-m', 'config.yaml', '-o', 'runner.fleet_mode=hybrid'], {
    cwd: folder,
  })
  expect(code).toBe(0)
  const lines = ofKind(eventsOf({ out }), 'output').map(({ line }) => line)
  expect(lines.some((line) => line.includes('averaged among the workers by ring of 2 over shared memory'))).toBe(true)
  expect(lines.some((line) => /epoch: 0 done/.test(line))).toBe(true)
})

test('a hybrid job whose sync_mode is not async, or whose workers have no addresses, is refused', async () => {
  const sync = await start({ servers: 1, overrides: ['runner.sync_mode=sync'] })
  for (const { ended } of sync.processes) expect(await ended).toBe(1)
  expect(JSON.stringify(sync.named('worker 0').events)).toContain(
    'runner.fleet_mode: hybrid needs runner.sync_mode async',
  )
  const nowhere = await start({ servers: 1, workersListen: false })
  for (const { ended } of nowhere.processes) expect(await ended).not.toBe(0)
  expect(JSON.stringify(nowhere.named('worker 0').events)).toContain('none knows where the others are')
})
