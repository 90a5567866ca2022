/** @file Parameter-server jobs of real processes: every mode trains, and sync trains exactly. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inferTiny, tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { type JobOptions, startJob } from './job.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function run(options: Omit<JobOptions, 'path'>) {
  const job = await startJob({ path: join(folder, 'config.yaml'), ...options })
  try {
    await job.success()
    return job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'result')) as unknown as {
      samples: number
      metrics: Record<string, number>
      evaluation: Record<string, number>
      digest: string
    }[]
  } finally {
    job.kill()
  }
}

describe('sync', () => {
  const sync = ['runner.epochs=2', 'runner.sync_mode=sync']
  const digest = { options: { digest: true } }

  test('one worker trains bit for bit what one process trains, over one server or three', async () => {
    const { result } = await trainTiny(folder, ['runner.epochs=2', 'runner.model_save_path='])
    const [one] = await run({ workers: 1, servers: 1, overrides: sync, ...digest })
    const [three] = await run({ workers: 1, servers: 3, overrides: sync, ...digest })
    expect(one!.digest).toBe(result.digest)
    expect(three!.digest).toBe(result.digest)
  })

  test('a repeated run of two workers with two threads is bit-identical', async () => {
    const job = { workers: 2, servers: 2, overrides: [...sync, 'runner.thread_num=2'], ...digest }
    const [first, again] = [await run(job), await run(job)]
    expect(first[0]!.samples).toBe(2 * 960)
    expect(again[0]!.digest).toBe(first[0]!.digest)
  })
})

describe.each(['async', 'half_async', 'geo'])('%s', (mode) => {
  test.each([
    [1, 1, 1],
    [2, 2, 2],
  ])('%i workers with %i threads over %i servers train as well as one process', async (workers, threads, servers) => {
    const overrides = [
      'runner.epochs=4',
      `runner.sync_mode=${mode}`,
      `runner.thread_num=${threads}`,
      'runner.geo_step=4',
      'runner.model_save_path=',
    ]
    const results = await run({ workers, servers, overrides })
    expect(results.map(({ samples }) => samples)).toEqual(results.map(() => 4 * 960))
    expect(new Set(results.map(({ evaluation }) => evaluation['auc'])).size).toBe(1) // global, not each worker's own
    expect(results[0]!.evaluation['auc']).toBeGreaterThan(0.72)
  })
})

describe('saving', () => {
  test.each(['async', 'geo'])('what 3 servers hold in mode %s is evaluated alike by one process', async (mode) => {
    const path = join(folder, `saved-${mode}`)
    const overrides = ['runner.epochs=2', `runner.sync_mode=${mode}`, `runner.model_save_path=${path}`]
    const [result] = await run({ workers: 1, servers: 3, overrides })
    const wanted = [`runner.infer_load_path=${path}`, 'runner.infer_start_epoch=1', 'runner.infer_end_epoch=2']
    const { epochs } = (await inferTiny(folder, wanted)).result
    expect(epochs[0]!.metrics).toEqual(result!.evaluation)
  })

  test('a geo worker goes on from its first batch with what was saved', async () => {
    const path = join(folder, 'geo-resumed')
    const geo = [
      'runner.sync_mode=geo',
      'runner.geo_step=1000',
      'runner.geo_dense_step=1000',
      `runner.model_save_path=${path}`,
    ]
    const [saved] = await run({ workers: 1, servers: 2, overrides: [...geo, 'runner.epochs=3'] })
    expect(saved!.evaluation['auc']).toBeGreaterThan(0.8)
    const still = ['runner.epochs=4', 'runner.last_epoch=2', 'hyper_parameters.learning_rate=0']
    const [resumed] = await run({ workers: 1, servers: 1, overrides: [...geo, ...still] })
    // Nothing is learned any more: what the epoch measures is the model it began with.
    expect(resumed!.metrics['auc']).toBeGreaterThan(0.8)
    expect(resumed!.evaluation['auc']).toBe(saved!.evaluation['auc'])
  })

  test.each([1, 4])('a job of %i servers goes on bit for bit from what 2 servers saved', async (servers) => {
    const path = join(folder, `resumed-${servers}`)
    const sync = ['runner.sync_mode=sync', `runner.model_save_path=${path}`]
    await run({ workers: 1, servers: 2, overrides: [...sync, 'runner.epochs=1'] })
    const more = [...sync, 'runner.epochs=2', 'runner.last_epoch=0']
    const [resumed] = await run({ workers: 1, servers, overrides: more, options: { digest: true } })
    const { result } = await trainTiny(folder, ['runner.epochs=2', 'runner.model_save_path='])
    expect(resumed!.digest).toBe(result.digest)
  })
})
