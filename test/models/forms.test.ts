/** @file One model in every form it may be written in: rank/dnn by defineModel and by PaddleRec's classes trains to the same bits, alone and mixed. */
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { GraphMode } from '../../src/model/index.ts'
import { exportCheckpoint, infer, train } from '../../src/training/driver/index.ts'
import { oarfish } from '../oarfish.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const CLASSES = at('examples/dnn_classes')
const DNN = at('models/rank/dnn')

/** The class of PaddleRec 1.x, around the same layers. */
const VERSION_1 = `import { metric, optimizer } from 'oarfish'
import { mean, softmax } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
import { Dnn } from './net.ts'
export class Model {
  constructor(hyper) { this.hyper = hyper }
  inputData({ label, sparse, dense }) {
    const slots = Array.from({ length: this.hyper.sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1)))
    return { click: label('click'), slots, dense: dense('dense_feature', this.hyper.dense_input_dim) }
  }
  net({ click, slots, dense }) {
    const { dense_input_dim: denseWidth, sparse_feature_dim: embeddingDim, fc_sizes: layerSizes } = this.hyper
    const logits = new Dnn({ slots: slots.length, denseWidth, embeddingDim, layerSizes }).forward(slots, dense)
    const predict = softmax(logits)
    return { loss: mean(nn.softmaxCrossEntropy(logits, click)), metrics: { auc: metric.auc(predict, click) }, outputs: { predict } }
  }
  optimizer() { return optimizer.adam({ learningRate: this.hyper.optimizer.learning_rate, lazy: true }) }
}
`

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'oarfish-forms-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** A folder with the config of rank/dnn and these files. */
async function folderOf(name: string, files: readonly string[], own: Readonly<Record<string, string>> = {}) {
  const folder = join(root, name)
  await mkdir(folder)
  await copyFile(join(DNN, 'config.yaml'), join(folder, 'config.yaml'))
  for (const file of files) await copyFile(join(file === 'model.ts' ? DNN : CLASSES, file), join(folder, file))
  for (const [file, text] of Object.entries(own)) await writeFile(join(folder, file), text)
  return folder
}

function configOf(folder: string, ...more: readonly string[]) {
  const data = ['train', 'test'].map((part) => `runner.${part}_data_dir=${DNN}/data/sample_data/${part}`)
  const overrides = [...data, 'runner.epochs=1', `runner.model_save_path=${join(folder, 'saved')}`, ...more]
  return loadConfig({ path: join(folder, 'config.yaml'), overrides })
}

async function trained(folder: string, mode: GraphMode = 'static', ...more: readonly string[]) {
  const { digest, metrics, evaluation } = await train({
    config: configOf(folder, ...more),
    emit: () => {},
    mode,
    digest: true,
  })
  return { digest, metrics, evaluation }
}

describe('rank/dnn', () => {
  let one: string
  let fixed: Awaited<ReturnType<typeof trained>>
  beforeAll(async () => {
    one = await folderOf('one', ['model.ts'])
    fixed = await trained(one)
    expect(fixed.digest).toMatch(/./)
  })

  test('as the class StaticModel has the weights of model.ts, bit for bit', async () => {
    expect(await trained(await folderOf('static', ['static_model.ts', 'net.ts']))).toEqual(fixed)
  })

  test('as the class Model of PaddleRec 1.x too', async () => {
    expect(await trained(await folderOf('version-1', ['net.ts'], { 'model.ts': VERSION_1 }))).toEqual(fixed)
  })

  test('as the class DygraphModel has those of model.ts in a dynamic graph', async () => {
    const classes = await folderOf('dygraph', ['static_model.ts', 'dygraph_model.ts', 'net.ts'])
    expect(await trained(classes, 'dygraph')).toEqual(await trained(one, 'dygraph', 'runner.model_save_path='))
  })

  test('mixed: a dynamic class beside model.ts trains, is evaluated by either mode and exported by model.ts', async () => {
    const mixed = await folderOf('mixed', ['model.ts', 'net.ts'], { 'dygraph_model.ts': DYNAMIC })
    const dynamic = await trained(mixed, 'dygraph')
    expect(dynamic).toEqual(await trained(one, 'dygraph', 'runner.model_save_path='))
    const config = configOf(mixed, `runner.infer_load_path=${join(mixed, 'saved')}`)
    for (const mode of ['static', 'dygraph'] as const) {
      const { epochs } = await infer({ config, emit: () => {}, mode })
      expect(epochs[0]!.metrics['auc']).toBeCloseTo(dynamic.evaluation!['auc']!, 6)
    }
    const manifest = await exportCheckpoint({ config, out: join(mixed, 'exported'), emit: () => {} })
    expect(manifest.score.output).toBe('predict')
  })

  test('mixed: a static class beside model.ts, which serves the dynamic graph', async () => {
    const mixed = await folderOf('mixed-static', ['model.ts', 'static_model.ts', 'net.ts'])
    expect(await trained(mixed)).toEqual(fixed)
    expect(await trained(mixed, 'dygraph', 'runner.model_save_path=')).toEqual(
      await trained(one, 'dygraph', 'runner.model_save_path='),
    )
  })

  test('one model.ts trains, evaluates and exports by the command line, in both modes and with two threads', async () => {
    const data = ['train', 'test'].map((part) => `runner.${part}_data_dir=${DNN}/data/sample_data/${part}`)
    const folder = await folderOf('commands', ['model.ts'])
    const settings = ['-o', ...data, 'runner.epochs=1', 'runner.thread_num=2', 'runner.infer_end_epoch=1']
    for (const command of [['check'], ['train', '--mode', 'dygraph'], ['infer'], ['infer', '--mode', 'dygraph']]) {
      const { code, err } = await oarfish([...command, '-m', 'config.yaml', ...settings], folder)
      expect([command, code, err]).toEqual([command, 0, ''])
    }
    expect(await oarfish(['export', '-m', 'config.yaml', '--out', 'exported', ...settings], folder)).toMatchObject({
      code: 0,
    })
    // PaddleRec's dynamic trainer.
    const tool = ['tool', 'trainer', '-m', 'config.yaml', ...settings, '--json']
    const { code, out } = await oarfish(tool, folder)
    expect(code).toBe(0)
    expect(JSON.parse(out.trim().split('\n').at(-1)!)).toMatchObject({ kind: 'done', samples: 1000 })
  })
})

/** The dynamic class, with inputs, hyper-parameters and optimizer of model.ts. */
const DYNAMIC = `import { metric } from 'oarfish'
import { mean, softmax } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
import model from './model.ts'
import { Dnn } from './net.ts'
export const { hyperParameters } = model
const run = { training: true, mode: 'dygraph', device: 'cpu', sync_mode: 'async' }
export class DygraphModel {
  constructor(hyper) { this.hyper = hyper }
  createFeeds(feeds) { return model.inputs(feeds, this.hyper, run) }
  createModel() {
    const { dense_input_dim: denseWidth, sparse_feature_dim: embeddingDim, fc_sizes: layerSizes } = this.hyper
    return new Dnn({ slots: this.hyper.sparse_inputs_slots - 1, denseWidth, embeddingDim, layerSizes })
  }
  createOptimizer() { return model.optimizer(this.hyper, run) }
  createMetrics() { return { auc: 'auc' } }
  trainForward(layers, { click, slots, dense }) {
    const logits = layers.forward(slots, dense)
    return { loss: mean(nn.softmaxCrossEntropy(logits, click)), metrics: { auc: metric.auc(softmax(logits), click) } }
  }
  inferForward(layers, inputs) { return this.trainForward(layers, inputs) }
}
`
