/** @file NeuMF on MovieLens-100k ranks each user's last choice as PyTorch's does, by what test/python/record_ncf.py recorded. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { predict } from '../../src/inference/export/index.ts'
import { train } from '../../src/training/driver/index.ts'

interface Recorded {
  /** Of the rows, train before test. */
  readonly sha256: string
  readonly batchSize: number
  readonly learningRate: number
  /** HR@10 by seed, after each epoch. */
  readonly hitRatio: Readonly<Record<string, readonly number[]>>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RECORDED = JSON.parse(readFileSync(join(ROOT, 'test/fixtures/ncf.json'), 'utf8')) as Recorded
/** Enough to see it learn, few enough for every commit; the model's README has ten. */
const EPOCHS = 2
/** One run's ratio moves by 0.01 with the last bit of a sum; means of three move less. */
const SEEDS = Object.keys(RECORDED.hitRatio)
const { OARFISH_DATA } = process.env

describe.skipIf(!OARFISH_DATA)('on OARFISH_DATA/ml-100k', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-ncf-'))
    execFileSync(process.execPath, [script('leave_one_out.mjs'), join(OARFISH_DATA!, 'ml-100k'), folder])
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('the rows are those PyTorch was trained on', () => {
    const hash = createHash('sha256')
    for (const part of ['train', 'test']) hash.update(readFileSync(join(folder, part, 'part-000')))
    expect(hash.digest('hex')).toBe(RECORDED.sha256)
  })

  test("HR@10 is within 0.01 of PyTorch's from the same first weights", async () => {
    const reached: number[] = []
    for (const seed of SEEDS) reached.push(await trainedRatio(seed))
    const expected = meanOf(SEEDS.map((seed) => RECORDED.hitRatio[seed]![EPOCHS - 1]!))
    expect(Math.abs(meanOf(reached) - expected), `${reached} beside ${expected}`).toBeLessThan(0.01)
  }, 240_000)

  async function trainedRatio(seed: string): Promise<number> {
    const saved = join(folder, 'saved', seed)
    const runner = {
      train_data_dir: join(folder, 'train'),
      test_data_dir: join(folder, 'test'),
      train_batch_size: RECORDED.batchSize,
      infer_batch_size: 1000,
      epochs: EPOCHS,
      seed,
      use_inference: true,
      model_save_path: saved,
    }
    const config = loadConfig({
      path: join(ROOT, 'models/recall/ncf/config.yaml'),
      overrides: [
        ...Object.entries(runner).map(([key, value]) => `runner.${key}=${value}`),
        `hyper_parameters.optimizer.learning_rate=${RECORDED.learningRate}`,
      ],
    })
    await train({ config, emit: () => {} })
    return hitRatio(join(saved, String(EPOCHS - 1)))
  }

  /** Through the export and the script of the example, as a user measures it. */
  async function hitRatio(saved: string): Promise<number> {
    const scores: number[] = []
    const input = join(folder, 'test', 'part-000')
    for await (const scored of predict({ model: join(saved, 'inference'), input })) scores.push(...scored.scores)
    const printed = execFileSync(process.execPath, [script('hit_ratio.mjs')], {
      input: scores.join('\n'),
      encoding: 'utf8',
    })
    return Number(/HR@10: ([\d.]+)/.exec(printed)![1])
  }
})

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function script(name: string): string {
  return join(ROOT, 'examples/movielens', name)
}
