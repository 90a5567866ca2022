/** @file Parameter-server jobs of real processes: every mode trains, and sync trains exactly. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { type JobOptions, startJob } from './job.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

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
    const { result } = await trainTiny(folder, ['runner.epochs=2', 'runner.model_save_path=""'])
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

describe('async', () => {
  test('one worker and one server train as well as one process', async () => {
    const [result] = await run({ workers: 1, servers: 1, overrides: ['runner.epochs=3', 'runner.sync_mode=async'] })
    expect(result!.samples).toBe(3 * 960)
    expect(result!.evaluation['auc']).toBeGreaterThan(0.75)
  })
})
