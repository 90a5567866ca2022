/** @file Real processes whose frames are lost, late, repeated, overtake each other and stay away for a while: the model is that of a good network. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Faults } from '../../src/base/net/faulty.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { startJob } from './job.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const FAULTS: Faults = { seed: 1, drop: 0.01, repeat: 0.05, delayMs: 3, reorder: true }
/** What is lost is asked for again after a while, many times in a row: minutes, beside others. */
const LIMIT = { timeout: 600_000 }
let runs = 0

async function resultOf(mode: string, faults?: Faults) {
  const overrides = [
    'runner.epochs=2',
    `runner.sync_mode=${mode}`,
    `runner.model_save_path=${join(folder, `${runs++}`)}`,
  ]
  const job = await startJob({
    ...{ path: join(folder, 'config.yaml'), workers: 2, servers: 2, options: { digest: true } },
    ...{ overrides: [...overrides, 'runner.snapshot_interval=8'], ...(faults && { faults }) },
  })
  try {
    await job.success()
    return job.named('worker 0').events.find(({ kind }) => kind === 'result')!
  } finally {
    job.kill()
  }
}

test('sync trains bit for bit what it trains over a good network', LIMIT, async () => {
  const { digest, samples } = await resultOf('sync', { ...FAULTS, partition: { fromMs: 4000, forMs: 1500 } })
  expect(samples).toBe(2 * 960)
  expect(digest).toBe((await resultOf('sync'))['digest'])
})

test('async trains every sample once', async () => {
  expect(await resultOf('async', FAULTS)).toMatchObject({ samples: 2 * 960, interrupted: false })
})
