/** @file Accessors on servers do as in one process: rows, counts and all; with real processes and float32. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { accessorRow } from '../../src/base/kernel/index.ts'
import { createRng } from '../../src/base/util/index.ts'
import { loadModel } from '../../src/model/index.ts'
import { createParams } from '../../src/training/threads/index.ts'
import { loadSnapshot, openSnapshot } from '../../src/weights/snapshot/index.ts'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { startJob } from './job.testing.ts'

vi.setConfig({ testTimeout: 180_000 })

const BATCH = 6 // of a worker
const STEPS = 30
const WORKERS = 2

const MODEL = `
import { optimizer, z } from 'oarfish'
import { concat, mean } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export const hyperParameters = z.strictObject({})
export class StaticModel {
  createFeeds({ label, sparse, dense }) { return { click: label('click'), user: sparse('user'), item: sparse('item'), x: dense('x', 2) } }
  net({ click, user, item, x }) {
    const rows = nn.embedding([user, item], { name: 'rows', dim: 5 })
    const hidden = nn.linear(concat([rows, x], 1), { name: 'hidden', out: 8, activation: 'tanh' })
    return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(hidden, { name: 'out', out: 1 }), click)) }
  }
  createOptimizer() { return optimizer.sgd({ learningRate: 0.02 }) }
}
`
const CONFIG = (accessor: string, rule: string) => `
runner:
  train_data_dir: data/train
  train_batch_size: ${BATCH}
hyper_parameters: {}
table_parameters:
  rows:
    shard_num: 7
    entry: "show_click_entry::click"
    accessor:
      accessor_class: ${accessor}
      embedx_threshold: 0.5
      embed_sgd_param: { name: ${rule} }
      embedx_sgd_param: { name: ${rule} }
`

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(160)
  await writeFile(join(folder, 'static_model.ts'), MODEL)
  await writeData()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Worker w reads data/w; one process reads data/all, where each batch is the workers' batches in rank order. */
async function writeData(): Promise<void> {
  const rng = createRng(5n)
  const parts: Record<string, string[]> = { all: [], 0: [], 1: [] }
  for (let k = 0; k < STEPS * WORKERS; k++) {
    for (let i = 0; i < BATCH; i++) {
      const line = `click:${rng.below(2)} user:${rng.below(30)} item:${1000 + rng.below(30)} x:${rng.normal().toFixed(3)} x:0.5`
      for (const part of ['all', String(k % WORKERS)]) parts[part]!.push(line)
    }
  }
  for (const [part, lines] of Object.entries(parts)) {
    await mkdir(join(folder, part), { recursive: true })
    await writeFile(join(folder, part, 'part-0'), `${lines.join('\n')}\n`)
  }
}

async function rowsOf(saved: string) {
  const loaded = loadConfig({ path: join(folder, 'config.yaml'), cwd: folder })
  const model = await loadModel(loaded)
  const params = createParams(loaded.config, model, model, 0)
  await loadSnapshot({ snapshot: await openSnapshot(saved, 'test'), params, emit: () => undefined })
  const [table] = params.tables
  const { stats, counts, countFloats } = accessorRow(table!.accessor!)
  const rows = [...table!.scan()].flatMap(({ signs, rows, rowBytes }) =>
    [...signs].map((sign, i) => {
      const bytes = rows.slice(i * rowBytes, (i + 1) * rowBytes)
      const floats = new Float32Array(bytes.buffer)
      const words = new Uint32Array(bytes.buffer, 4 * (stats + 3), 2)
      const shown =
        countFloats === 1 ? floats.slice(counts, counts + 2) : new Float64Array(bytes.buffer.slice(4 * counts))
      return {
        sign,
        weights: [...floats.subarray(0, stats)],
        slot: floats[stats],
        words: [...words],
        shown: [...shown],
      }
    }),
  )
  return rows.sort((a, b) => (a.sign < b.sign ? -1 : 1))
}

test.each([
  ['SparseAccessor', 'SparseAdaGradSGDRule'],
  ['CtrCommonAccessor', 'SparseAdamSGDRule'],
  ['CtrDoubleAccessor', 'SparseSharedAdamSGDRule'],
])('%s with %s on servers: counts equal those of one process, weights to 1e-4', async (accessor, rule) => {
  await writeFile(join(folder, 'config.yaml'), CONFIG(accessor, rule))
  const whole = [`runner.train_data_dir=${folder}/all`, `runner.train_batch_size=${WORKERS * BATCH}`]
  await trainTiny(folder, [...whole, `runner.model_save_path=${folder}/single`])
  const job = await startJob({
    path: join(folder, 'config.yaml'),
    ...{ workers: WORKERS, servers: 2 },
    overrides: ['runner.sync_mode=sync', `runner.model_save_path=${folder}/job`],
    own: {
      'worker 0': { overrides: [`runner.train_data_dir=${folder}/0`] },
      'worker 1': { overrides: [`runner.train_data_dir=${folder}/1`] },
    },
  })
  try {
    await job.success()
  } finally {
    job.kill()
  }
  const [expected, found] = [await rowsOf(`${folder}/single/0`), await rowsOf(`${folder}/job/0`)]
  const known = ({ sign, slot, words, shown }: (typeof found)[number]) => ({ sign, slot, words, shown })
  expect(found.map(known)).toEqual(expected.map(known))
  expect(found.length).toBe(60)
  const clicks = found.reduce((sum, { shown }) => sum + shown[1]!, 0)
  expect(clicks).toBeGreaterThan(100)
  const away = found.flatMap(({ weights }, i) => weights.map((value, j) => Math.abs(value - expected[i]!.weights[j]!)))
  expect(Math.max(...away)).toBeLessThan(1e-4)
  expect(found.some(({ weights }) => weights[2] !== 0)).toBe(true)
})
