/** @file Parameter-server jobs of real processes: every mode trains, and sync trains exactly. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tinyFolder } from '../train/tiny.testing.ts'
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
      evaluation: Record<string, number>
    }[]
  } finally {
    job.kill()
  }
}

describe('async', () => {
  test('one worker and one server train as well as one process', async () => {
    const [result] = await run({ workers: 1, servers: 1, overrides: ['runner.epochs=3', 'runner.sync_mode=async'] })
    expect(result!.samples).toBe(3 * 960)
    expect(result!.evaluation['auc']).toBeGreaterThan(0.75)
  })
})
