/** @file The demo on MovieLens-100k: one machine, four trainers with four servers, and what test/python/record_recommendation.py recorded with PyTorch. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openWorkspace, rmse, start, startJob, testCosts, type Workspace } from './job.testing.ts'

interface Recorded {
  readonly size: number
  readonly passes: number
  /** Test RMSE of the best pass, mean of three seeds. */
  readonly best: number
}

const RECORDED = JSON.parse(
  readFileSync(new URL('../fixtures/recommendation.json', import.meta.url), 'utf8'),
) as Recorded
const { OARFISH_DATA } = process.env
const TRAIN = 90_000

vi.setConfig({ testTimeout: 900_000 })

describe.skipIf(!OARFISH_DATA)('on OARFISH_DATA/ml-100k', () => {
  let workspace: Workspace
  beforeAll(() => {
    workspace = openWorkspace()
    execFileSync('sh', ['preprocess.sh', join(OARFISH_DATA!, 'ml-100k')], { cwd: workspace.folder })
  })
  afterAll(() => workspace.remove())

  const options = (batch: number) => [
    `--config_args=size=${RECORDED.size},batch_size=${batch}`,
    `--num_passes=${RECORDED.passes}`,
    '--dot_period=0',
    '--log_period=0',
  ]
  const best = (out: string) => rmse(Math.min(...testCosts(out)))
  const samples = (out: string) => [...out.matchAll(/ Pass=\d+ samples=(\d+) /g)].map(([, count]) => Number(count))

  test("one machine reaches PyTorch's error, four with a quarter of the batch that of one", async () => {
    const alone = start('trainer', options(1600), workspace.folder)
    expect([await alone.ended, alone.err]).toEqual([0, ''])
    expect(best(alone.out)).toBeLessThan(RECORDED.best + 0.01)
    const job = await startJob({
      ...{ trainers: 4, servers: 4, ports: 1, sparsePorts: 1 },
      ...{ options: options(400), cwd: workspace.folder },
    })
    try {
      expect(await job.ended()).toEqual(new Array(8).fill(0))
      const { out } = job.trainers[0]!
      expect(samples(out)).toEqual(new Array(RECORDED.passes).fill(TRAIN))
      expect(Math.abs(best(out) - best(alone.out))).toBeLessThan(0.01)
    } finally {
      job.kill()
    }
  })
})
