/** @file Sync of real processes against one process over the same global batches, in float32. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BATCH, savedWeights, writeGlobalBatches } from '../train/global-batches.testing.ts'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { startJob } from './job.testing.ts'

vi.setConfig({ testTimeout: 180_000 })

const MODEL = `
import { optimizer, z } from 'oarfish'
import { concat, mean } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export const hyperParameters = z.strictObject({ rule: z.enum(['sgd', 'adam']) })
export class StaticModel {
  constructor(hyper) { this.rule = hyper.rule }
  createFeeds({ label, sparse, dense }) { return { click: label('click'), user: sparse('user'), item: sparse('item'), x: dense('x', 2) } }
  net({ click, user, item, x }) {
    const rows = nn.embedding([user, item], { name: 'rows', dim: 4 })
    const hidden = nn.linear(concat([rows, x], 1), { name: 'hidden', out: 8, activation: 'tanh' })
    return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(hidden, { name: 'out', out: 1 }), click)) }
  }
  createOptimizer() {
    return this.rule === 'sgd' ? optimizer.sgd({ learningRate: 0.05 }) : optimizer.adam({ learningRate: 0.001, lazy: true })
  }
}
`

const CONFIG = `
runner:
  train_data_dir: data/train
  train_batch_size: 6
hyper_parameters:
  rule: sgd
`

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(160)
  await writeFile(join(folder, 'static_model.ts'), MODEL)
  await writeFile(join(folder, 'config.yaml'), CONFIG)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test.each([
  ['sgd', 2, 200],
  ['adam', 2, 20],
  ['sgd', 4, 200],
] as const)('%s with %i workers is within 1e-5 of one process after %i steps', async (rule, workers, steps) => {
  const name = `${rule}-${workers}`
  await writeGlobalBatches(join(folder, name), workers, steps)
  const common = [`hyper_parameters.rule=${rule}`, 'runner.sync_mode=sync']
  const single = [
    ...common,
    `runner.train_data_dir=${folder}/${name}/all`,
    `runner.train_batch_size=${workers * BATCH}`,
  ]
  await trainTiny(folder, [...single, `runner.model_save_path=${folder}/${name}/single`])
  const job = await startJob({
    path: join(folder, 'config.yaml'),
    ...{ workers, servers: 2 },
    overrides: [...common, `runner.train_batch_size=${BATCH}`, `runner.model_save_path=${folder}/${name}/job`],
    own: Object.fromEntries(
      Array.from({ length: workers }, (_, w) => [
        `worker ${w}`,
        { overrides: [`runner.train_data_dir=${folder}/${name}/${w}`] },
      ]),
    ),
  })
  try {
    await job.success()
  } finally {
    job.kill()
  }
  const [expected, found] = [
    await savedWeights(folder, `${folder}/${name}/single/0`, single),
    await savedWeights(folder, `${folder}/${name}/job/0`, single),
  ]
  expect(found.length).toBe(expected.length)
  expect(Math.max(...found.map((value, i) => Math.abs(value - expected[i]!)))).toBeLessThan(1e-5)
})
