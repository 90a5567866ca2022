/** @file Users bring their trained tables: what PaddlePaddle 2.6.2 saved and predicted is loaded here and predicts the same. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { openExport, rawColumns, Scorer } from '../../src/inference/export/index.ts'
import { convertModel } from '../../src/training/driver/index.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const dnn = fileURLToPath(new URL('../../models/rank/dnn/', import.meta.url))
const quiet = () => undefined

interface Prediction {
  readonly signs: readonly string[]
  readonly dense: readonly number[]
  readonly score: number
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-paddle-'))
  await writeFile(join(folder, 'model.ts'), await readFile(join(dnn, 'model.ts'), 'utf8'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function configOf(rule: string, more: string) {
  const path = join(folder, `${rule}.yaml`)
  await writeFile(
    path,
    `runner:
  train_data_dir: none
  train_batch_size: 32
  model_save_path: ""
hyper_parameters:
  sparse_inputs_slots: 5
  sparse_feature_dim: 5
  dense_input_dim: 3
  fc_sizes: [8, 4]
table_parameters:
  embedding:
    shard_num: 10
    accessor: { ${more} embed_sgd_param: { name: ${rule} }, embedx_sgd_param: { name: ${rule} } }
`,
  )
  return loadConfig({ path, cwd: folder })
}

async function scoresOf(exported: string, predictions: readonly Prediction[]): Promise<number[]> {
  const scorer = await Scorer.open(await openExport(exported))
  try {
    const instances = predictions.map(({ signs, dense }) => ({
      ...Object.fromEntries(signs.map((sign, i) => [String(i + 1), [sign]])),
      dense_feature: [...dense],
    }))
    return [...(await scorer.score(rawColumns(scorer.manifest.slots, instances))).scores]
  } finally {
    await scorer.close()
  }
}

test.each([
  ['adagrad', 'SparseAdaGradSGDRule', ''],
  ['adam', 'SparseAdamSGDRule', 'embedx_threshold: 3,'],
])('%s: an export made from Paddle files predicts as Paddle did', async (name, rule, more) => {
  const config = await configOf(rule, more)
  const predictions = JSON.parse(await readFile(join(here, name, 'predictions.json'), 'utf8')) as Prediction[]
  const exported = join(folder, `${name}-export`)
  await convertModel({ config, from: join(here, name), to: exported, as: 'export', emit: quiet })
  const scores = await scoresOf(exported, predictions)
  for (const [i, { score }] of predictions.entries()) expect(Math.abs(scores[i]! - score)).toBeLessThan(1e-5)

  // To a checkpoint, to Paddle's files again and to an export: still the same.
  const [checkpoint, paddle, last] = ['checkpoint', 'paddle', 'last'].map((form) => join(folder, `${name}-${form}`))
  await convertModel({ config, from: join(here, name), to: checkpoint!, as: 'checkpoint', emit: quiet })
  await convertModel({ config, from: checkpoint!, to: paddle!, as: 'paddle', servers: 2, emit: quiet })
  expect(await readdir(join(paddle!, '000'))).toEqual(await readdir(join(here, name, '000')))
  expect((await readdir(join(paddle!, 'dnn_plugin'))).sort()).toContain('__model__')
  await convertModel({ config, from: paddle!, to: last!, as: 'export', emit: quiet })
  expect(await scoresOf(last!, predictions)).toEqual(scores)
})

test('what cannot be converted is said', async () => {
  const config = await configOf('SparseAdaGradSGDRule', '')
  const said = (from: string) =>
    convertModel({ config, from, to: join(folder, 'no'), as: 'export', emit: quiet }).then(
      () => 'no error',
      (error: Error) => error.message,
    )
  expect(await said(folder)).toContain('it holds neither a checkpoint (manifest.json) nor tables of Paddle (000)')
  expect(await said(join(folder, 'adagrad-export'))).toContain('it is an export')
  const checkpoint = join(folder, 'adagrad-checkpoint')
  await expect(
    convertModel({ config, from: join(here, 'adagrad'), to: checkpoint, as: 'export', emit: quiet }),
  ).rejects.toMatchObject({ code: 'EXPORT_WRITE' })
  const exported = join(folder, 'adagrad-export')
  await expect(
    convertModel({ config, from: join(here, 'adagrad'), to: exported, as: 'checkpoint', emit: quiet }),
  ).rejects.toMatchObject({ code: 'SNAPSHOT_REPLACE' })
})
