/** @file Every shipped config trains, and on data with a known truth the models rank as they should. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { type CriteoLikeResult, generateCriteoLike } from '../../src/data/index.ts'
import { infer, type TrainResult, train } from '../../src/training/driver/index.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Of programs that prepare their data first; tests of their own run them. */
const PREPARED = /^movie_recommand\//
const CONFIGS = ['models', 'examples'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('config.yaml') && !PREPARED.test(path))
    .map((path) => join(folder, path)),
)

let scratch: string
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'oarfish-zoo-'))
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

describe('every config.yaml', () => {
  test.each(CONFIGS)(
    '%s trains an epoch on its sample, evaluates, and does so again from what it saved',
    async (path) => {
      const overrides = ['runner.epochs=1', `runner.model_save_path=${join(scratch, dirname(path))}`]
      const { samples, metrics, evaluation } = await trainConfig(path, overrides)
      expect(samples).toBeGreaterThan(0)
      for (const value of [...Object.values(metrics), ...Object.values(evaluation!)]) expect(value).toBeGreaterThan(0)
      const config = loadConfig({ path: join(ROOT, path), overrides })
      expect((await infer({ config, emit: () => {} })).epochs).toEqual([{ epoch: 0, metrics: evaluation }])
    },
  )

  test.each(CONFIGS)('%s has a model whose hyper-parameters all have defaults', async (path) => {
    const file = (name: string) => join(ROOT, dirname(path), name)
    const own = await import(pathToFileURL(file(existsSync(file('model.ts')) ? 'model.ts' : 'static_model.ts')).href)
    const { hyperParameters } = own.default ?? own
    const defaults = hyperParameters.parse({})
    const optional = Object.keys(hyperParameters.shape).filter(
      (name) => hyperParameters.shape[name].def.type === 'optional',
    )
    expect(optional).toEqual(path.includes('/logistic_regression/') ? ['dense_input_dim'] : [])
    expect([...Object.keys(defaults), ...optional].sort()).toEqual(Object.keys(hyperParameters.shape).sort())
    expect(JSON.stringify(hyperParameters.parse(defaults))).toBe(JSON.stringify(defaults))
    const { config } = loadConfig({ path: join(ROOT, path) })
    expect([...Object.keys(defaults), ...optional]).toEqual(
      expect.arrayContaining(Object.keys(config.hyper_parameters)),
    )
  })

  test.each(CONFIGS)('%s stands beside a README and, in models/, config_bigdata.yaml and model.ts', (path) => {
    const files = ['README.md', ...(path.startsWith('models') ? ['config_bigdata.yaml', 'model.ts'] : [])]
    expect(files.filter((file) => !existsSync(join(ROOT, dirname(path), file)))).toEqual([])
  })
})

describe('a hit', () => {
  test('of two towers: an item is not nearer than itself, wherever it stands in the batch', async () => {
    const lines = Array.from({ length: 64 }, (_, i) => `history:${i + 1} history:${i + 9} item:7 log_share:-1`)
    expect(await trainOn('recall/two_tower', lines, ['hyper_parameters.recall_k=1'])).toMatchObject({ hit: 1 })
  })

  test('of TagSpace: only with tags that a sample has', async () => {
    const lines = Array.from({ length: 64 }, (_, i) => `text:${i + 1} pos_tag:1 neg_tag:2`)
    const one = await trainOn('contentunderstanding/tagspace', lines, ['hyper_parameters.neg_size=1'])
    expect(await trainOn('contentunderstanding/tagspace', lines, ['hyper_parameters.neg_size=3'])).toEqual(one)
  })
})

test.each([
  ['multitask/pepnet', 'domain_fields=[23]', 'expected numbers below num_field'],
  ['multitask/pepnet', 'person_fields=[0,23]', 'expected numbers below num_field'],
  ['rank/fgcnn', 'kernel=[7]', 'expected as many numbers as kernel, pooling and new_filters have'],
])('%s refuses %s', async (model, setting, words) => {
  await expect(trainConfig(`models/${model}/config.yaml`, [`hyper_parameters.${setting}`])).rejects.toThrow(words)
})

test('models are short: their TypeScript is below 90 lines a model, readers included', () => {
  const files = readdirSync(join(ROOT, 'models'), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((path) => path.endsWith('.ts'))
  const lines = sources.map((path) => readFileSync(join(ROOT, 'models', path), 'utf8').split('\n').length - 1)
  const models = sources.filter((path) => path.endsWith('model.ts'))
  expect(lines.reduce((sum, count) => sum + count)).toBeLessThan(90 * models.length)
})

describe('on criteo-like data, after one pass,', () => {
  const auc: Record<string, number> = {}
  let truth: CriteoLikeResult
  beforeAll(async () => {
    const out = join(scratch, 'criteo')
    truth = generateCriteoLike({ rows: 120_000, seed: 1, out })
    const overrides = [`runner.train_data_dir=${out}/train`, `runner.test_data_dir=${out}/test`]
    const more = ['runner.train_batch_size=128', 'runner.thread_num=1', 'runner.model_save_path=']
    for (const model of ['logistic_regression', 'fm', 'dnn']) {
      const { evaluation } = await trainConfig(`models/rank/${model}/config_bigdata.yaml`, [...overrides, ...more])
      auc[model] = evaluation!['auc']!
    }
  })

  test('dnn ranks better than fm, and fm better than logistic_regression', () => {
    expect(auc['dnn']! - auc['fm']!).toBeGreaterThan(0.008)
    expect(auc['fm']! - auc['logistic_regression']!).toBeGreaterThan(0.02)
  })

  test('each goes its share of the way from chance to what the hidden model itself reaches', () => {
    expect(truth.hiddenAuc).toBeCloseTo(0.7986, 3)
    const share = (model: string) => (auc[model]! - 0.5) / (truth.hiddenAuc - 0.5)
    expect(share('dnn')).toBeGreaterThan(0.75)
    expect(share('fm')).toBeGreaterThan(0.7)
    expect(share('logistic_regression')).toBeGreaterThan(0.54)
  })
})

/** Metrics of these lines after a pass over them. */
async function trainOn(model: string, lines: readonly string[], overrides: readonly string[]) {
  const data = join(scratch, 'lines', model)
  await mkdir(data, { recursive: true })
  await writeFile(join(data, 'part-0'), `${lines.join('\n')}\n`)
  const folders = [`runner.train_data_dir=${data}`, `runner.test_data_dir=${data}`, 'runner.model_save_path=']
  const { evaluation } = await trainConfig(`models/${model}/config.yaml`, [...folders, 'runner.epochs=1', ...overrides])
  return evaluation
}

function trainConfig(path: string, overrides: readonly string[]): Promise<TrainResult> {
  return train({ config: loadConfig({ path: join(ROOT, path), overrides }), emit: () => {} })
}
