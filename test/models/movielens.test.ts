/** @file fm and deepfm on MovieLens-100k reach the test AUC that test/python/record_movielens.py recorded with PyTorch. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { train } from '../../src/training/driver/index.ts'

interface Recorded {
  /** Of the converted rows, train before test. */
  readonly sha256: string
  readonly hyper: Readonly<Record<string, unknown>>
  readonly epochs: number
  readonly batchSize: number
  readonly models: Readonly<Record<string, { readonly hyper: Readonly<Record<string, unknown>>; readonly auc: number }>>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RECORDED = JSON.parse(readFileSync(join(ROOT, 'test/fixtures/movielens.json'), 'utf8')) as Recorded
/** A deepfm's AUC differs by some thousandths from seed to seed; means of three differ by less. */
const SEEDS = [1, 2, 3]
const { OARFISH_DATA } = process.env

describe.skipIf(!OARFISH_DATA)('on OARFISH_DATA/ml-100k', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-movielens-'))
    const convert = join(ROOT, 'examples/movielens/convert.mjs')
    execFileSync(process.execPath, [convert, join(OARFISH_DATA!, 'ml-100k'), folder])
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('the rows are those PyTorch was trained on', () => {
    const parts = ['train', 'test'].map((part) => readFileSync(join(folder, part, 'part-000')))
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    expect(hash.digest('hex')).toBe(RECORDED.sha256)
  })

  test.each(Object.entries(RECORDED.models))(
    "%s reaches PyTorch's test AUC within 0.005",
    async (name, { hyper, auc }) => {
      const reached: number[] = []
      for (const seed of SEEDS) reached.push(await testAuc(name, hyper, seed))
      const mean = reached.reduce((sum, value) => sum + value, 0) / reached.length
      expect(mean, `${reached.map((value) => value.toFixed(4))} beside ${auc}`).toBeGreaterThan(auc - 0.005)
    },
    120_000,
  )

  async function testAuc(name: string, hyper: Recorded['hyper'], seed: number): Promise<number> {
    const { epochs, batchSize } = RECORDED
    const runner = {
      train_data_dir: join(folder, 'train'),
      test_data_dir: join(folder, 'test'),
      train_batch_size: batchSize,
      infer_batch_size: 1000,
      epochs,
      seed,
      model_save_path: '', // nothing is saved
    }
    const config = loadConfig({
      path: join(ROOT, 'models/rank', name, 'config.yaml'),
      overrides: [
        ...Object.entries(runner).map(([key, value]) => `runner.${key}=${value}`),
        ...Object.entries({ ...RECORDED.hyper, ...hyper }).map(
          ([key, value]) => `hyper_parameters.${key}=${JSON.stringify(value)}`,
        ),
      ],
    })
    const { evaluation } = await train({ config, emit: () => {} })
    return evaluation!['auc']!
  }
})
