/** @file `oarfish run`: a guide's config for one machine to the end, and what runners and phases do on the way. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { loadRunConfig } from '../../src/base/config/index.ts'
import type { Event, EventOf } from '../../src/base/event/index.ts'
import { folderOwner, holdFolder } from '../../src/base/fs/index.ts'
import { runModes } from '../../src/paddle/paddlerec-v1/index.ts'
import { oarfish } from '../oarfish.testing.ts'
import { FIXTURE, singleMachine } from './blocks.testing.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-run-'))
afterAll(() => rmSync(root, { recursive: true }))
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(root, 'job-'))
})

const { OARFISH_SEEDS } = process.env
const seed = OARFISH_SEEDS ? readdirSync(OARFISH_SEEDS).find((name) => /^000.*\.txt$/.test(name)) : undefined

describe.each([
  ['of the fixture', () => singleMachine(FIXTURE)],
  ['of the guide in OARFISH_SEEDS', () => singleMachine(readFileSync(join(OARFISH_SEEDS!, seed!), 'utf8'))],
])('the config for one machine %s', (where, text) => {
  const own = mkdtempSync(join(tmpdir(), 'oarfish-single-'))
  const skip = where.includes('OARFISH_SEEDS') && !seed
  afterAll(() => rmSync(own, { recursive: true }))

  test.skipIf(skip)(
    'runs verbatim to the end, with 13 real dense values, and saves epochs 1 and 3',
    async () => {
      writeFileSync(join(own, 'config.yaml'), text())
      const { code, out, err } = await oarfish(['run', '-m', 'config.yaml'], own)
      expect({ code, last: out.trim().split('\n').at(-1) }).toEqual({ code: 0, last: 'PaddleRec Finish' })
      expect(out).toMatch(
        /^PaddleRec: Runner \w+ Begin\nExecutor Mode: train\nprocessor_register begin\nRunning SingleInstance\.\nRunning SingleNetwork\.\nRunning SingleStartup\.\nRunning SingleRunner\.\nepoch 0 done, use time: [\d.]+, global metrics: loss=\[/m,
      )
      expect(out).not.toContain('not declared')
      expect(err).toMatch(
        / - INFO: \t\[Train\], {2}epoch: 0, {2}batch: 10, time_each_interval: \d+\.\d\ds, loss: \[0\.\d+\], auc: \[[\d.]+\], BATCH_AUC: \[[\d.]+\]$/m,
      )
      expect(err).toContain('\tsave epoch_id:1 model into: "increment_dnn/1"')
      expect(readdirSync(join(own, 'increment_dnn')).sort()).toEqual(['1', '3'])
    },
    60_000,
  )

  test.skipIf(skip)(
    'and a second config evaluates each of them, in numeric order',
    async () => {
      const infer = text()
        .replace('class: train', 'class: infer')
        .replace('init_model_path: ""', 'init_model_path: "increment_dnn"')
      writeFileSync(join(own, 'infer.yaml'), infer.replace('sample_data/train', 'sample_data/test'))
      const { code, out } = await oarfish(['run', '-m', 'infer.yaml'], own)
      expect(code).toBe(0)
      const lines = out.split('\n').filter((line) => /^(load|Infer)/.test(line))
      expect(lines.map((line) => line.split(',')[0])).toEqual([
        'load persistables from increment_dnn/1',
        'Infer phase1 of epoch 1 done',
        'load persistables from increment_dnn/3',
        'Infer phase1 of epoch 3 done',
      ])
    },
    60_000,
  )
})

const MODEL = `
import { metric } from 'oarfish'
import { mean, concat, sigmoid } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export class Model {
  net({ label, sparse, dense }, isInfer) {
    const x = concat([nn.embedding(Object.values(sparse), { name: 'table', dim: 2 }), ...Object.values(dense)], 1)
    const logit = nn.linear(x, { name: 'fc', out: 1 })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, label)), metrics: { AUC: metric.auc(sigmoid(logit), label) } }
  }
}
`
const CONFIG = `workspace: "./"
mode: train
runner:
- name: train
  class: TRAIN
  epochs: 3
  save_checkpoint_path: saved
  print_interval: 2
- name: infer
  class: infer
  init_model_path: saved
dataset:
- name: data
  batch_size: 8
  data_path: "{workspace}/data"
  sparse_slots: "click user item"
  dense_slots: "x:[1,2]"
phase:
- name: phase1
  model: "{workspace}/model.py"
  dataset_name: data
hyper_parameters:
  optimizer: { class: Adam, learning_rate: 0.01 }
`
const line = (i: number) => `click:${i % 2} user:${(i % 2) + 2} item:${i % 7} x:0.${i % 10} x:1`

/** A folder with the small model of class Model; two files of 20 samples, one in a folder of its own. */
function job(config = CONFIG): void {
  mkdirSync(join(folder, 'data/more'), { recursive: true })
  const text = Array.from({ length: 20 }, (_, i) => `${line(i)}\n`).join('')
  writeFileSync(join(folder, 'data/part-0'), text)
  writeFileSync(join(folder, 'data/more/part-1'), text)
  writeFileSync(join(folder, 'data/.hidden'), 'not data')
  if (!existsSync(join(folder, 'model.ts'))) writeFileSync(join(folder, 'model.ts'), MODEL)
  writeFileSync(join(folder, 'config.yaml'), config)
}

async function run(env = {}): Promise<{ events: Event[]; result: Awaited<ReturnType<typeof runModes>> }> {
  const events: Event[] = []
  const config = loadRunConfig({ path: 'config.yaml', cwd: folder })
  const result = await runModes({ config, emit: (event) => events.push(event), env })
  return { events, result }
}

const failure = async (env = {}) => String(((await run(env).catch((error: unknown) => error)) as Error).message)
const ofKind = <K extends Event['kind']>(events: readonly Event[], kind: K) =>
  events.filter((event): event is EventOf<K> => event.kind === kind)

describe('a runner', () => {
  test('of class Model takes its inputs from the slots and its optimizer from the hyper-parameters', async () => {
    job()
    const { result, events } = await run()
    expect(result.runners[0]!.samples).toBe(3 * 40)
    expect(Object.keys(result.runners[0]!.metrics['phase1']!)).toEqual(['loss', 'AUC'])
    const losses = ofKind(events, 'epoch').map(({ metrics }) => metrics['loss']!)
    expect(losses[2]).toBeLessThan(losses[0]!)
  })

  test('does not write where another job does, and gives its folder back when it ends', async () => {
    job()
    mkdirSync(join(folder, 'saved'))
    const other = await holdFolder(join(folder, 'saved'), { kind: 'model', key: 'x', hint: 'x' })
    expect(await failure()).toContain(`another job writes into ${join(folder, 'saved')}: process ${process.pid}`)
    expect(folderOwner(join(folder, 'saved'), 'model')?.pid).toBe(process.pid)
    other.release()
    await run()
    expect(folderOwner(join(folder, 'saved'), 'model')).toBeUndefined()
  })

  test('without an interval saves every epoch, and leaves out a batch that is not whole', async () => {
    job(CONFIG.replace('batch_size: 8', 'batch_size: 16'))
    const { result, events } = await run()
    expect(readdirSync(join(folder, 'saved')).sort()).toEqual(['0', '1', '2'])
    expect(result.runners[0]!.samples).toBe(3 * 32)
    const notices = ofKind(events, 'notice').map(({ message }) => message)
    expect(notices).toContain('The last 8 samples fill no batch of 16 and are left out.')
  })

  test('runs after the one before it in mode; infer evaluates every saved epoch and dumps each', async () => {
    job(
      CONFIG.replace('mode: train', 'mode: [train, infer]').replace(
        '  class: infer',
        '  class: infer\n  runner_result_dump_path: out/result.json',
      ),
    )
    const { result } = await run()
    expect(result.runners.map(({ runner }) => runner)).toEqual(['train', 'infer'])
    expect(Object.keys(result.runners[1]!.metrics)).toEqual(['phase1/0', 'phase1/1', 'phase1/2'])
    const dumped = JSON.parse(readFileSync(join(folder, 'out/result.json_epoch_2'), 'utf8'))
    expect(dumped).toHaveLength(5)
    expect(dumped[0]['AUC.prediction']).toHaveLength(8)
  })

  test('saves steps, dumps each epoch, reads files in another order, the same in each run', async () => {
    const runner = '  save_step_interval: 2\n  save_step_path: steps\n  runner_result_dump_path: dump\n'
    job(
      CONFIG.replace('  print_interval: 2\n', `  print_interval: 2\n${runner}`).replace(
        'dataset_name: data',
        'dataset_name: data\n  shuffle_filelist: True',
      ),
    )
    await run()
    expect(readdirSync(join(folder, 'steps')).slice(0, 3)).toEqual([
      'epoch_0_batch_0',
      'epoch_0_batch_2',
      'epoch_0_batch_4',
    ])
    const first = readFileSync(join(folder, 'dump_epoch_2'), 'utf8')
    await run()
    expect(readFileSync(join(folder, 'dump_epoch_2'), 'utf8')).toBe(first)
  })

  test('saves models for inference by an interval of their own, which score as they should', async () => {
    const saving = '  save_inference_path: exported\n  save_inference_interval: 2\n'
    writeFileSync(
      join(folder, 'model.ts'),
      MODEL.replace('return { loss', 'return { outputs: { predict: sigmoid(logit) }, loss'),
    )
    job(CONFIG.replace('  print_interval: 2\n', saving))
    await run()
    expect(readdirSync(join(folder, 'exported')).sort()).toEqual(['1', '2'])
    const { code, out } = await oarfish(['predict', '--model', 'exported/2', 'data/part-0'], folder)
    expect({ code, lines: out.trim().split('\n').length }).toEqual({ code: 0, lines: 20 })
  })

  test('starts from init_model_path', async () => {
    job()
    const first = (await run()).result.runners[0]!.metrics['phase1']!['loss']!
    writeFileSync(join(folder, 'config.yaml'), CONFIG.replace('epochs: 3', 'epochs: 1\n  init_model_path: saved/2'))
    const { events, result } = await run()
    expect(ofKind(events, 'loaded').map(({ epoch }) => epoch)).toEqual([2])
    expect(result.runners[0]!.metrics['phase1']!['loss']).toBeLessThan(first)
  })

  test('that is stopped ends after the step under way', async () => {
    job()
    const stop = new AbortController()
    const config = loadRunConfig({ path: 'config.yaml', cwd: folder })
    const emit = (event: Event) => event.kind === 'epoch' && stop.abort()
    const { interrupted, runners } = await runModes({ config, emit, signal: stop.signal })
    expect({ interrupted, samples: runners[0]!.samples }).toEqual({ interrupted: true, samples: 40 })
  })

  test('with several phases trains each by itself, in the order of `phase`, and saves each', async () => {
    const second = CONFIG.replace(
      'hyper_parameters',
      '- name: phase2\n  model: "{workspace}/model.py"\n  dataset_name: data\nhyper_parameters',
    )
    job(
      second
        .replace('mode: train', 'mode: [train, infer]')
        .replace('epochs: 3', 'epochs: 1\n  phases: [phase2, phase1]'),
    )
    const { result } = await run()
    expect(Object.keys(result.runners[0]!.metrics)).toEqual(['phase1', 'phase2'])
    expect(readdirSync(join(folder, 'saved/0')).sort()).toEqual(['phase1', 'phase2'])
    expect(result.runners[1]!.metrics['phase2/0']).toEqual(result.runners[1]!.metrics['phase1/0'])
  })

  test('of a cluster says that it needs a backend, before anything runs', async () => {
    job(CONFIG.replace('class: TRAIN', 'class: cluster_train'))
    expect(await failure()).toContain(
      "runner.train.class: cluster_train submits the job and needs the cluster's backend.yaml",
    )
    expect(existsSync(join(folder, 'saved'))).toBe(false)
  })

  test('of a cluster, on a node that nobody told of servers, names what is missing', async () => {
    job(CONFIG.replace('class: TRAIN', 'class: cluster_train'))
    expect(await failure({ CLUSTER_INSTANCE: '1', TRAINING_ROLE: 'TRAINER' })).toContain(
      'Can not find PADDLE_PSERVERS_IP_PORT_LIST',
    )
  })
})

describe('a dataset', () => {
  test('fills slots that a line does not have with its padding', async () => {
    job(
      CONFIG.replace('"x:[1,2]"', '"x:[1,2]"\n  padding: 3').replace(
        'epochs: 3',
        'epochs: 1\n  runner_result_dump_path: dump',
      ),
    )
    const [withSlot, without] = ['click:1 user:3 item:3 x:3 x:3', 'click:1']
    writeFileSync(join(folder, 'data/part-0'), `${withSlot}\n${without}\n`.repeat(4))
    rmSync(join(folder, 'data/more'), { recursive: true })
    await run()
    const [batch] = JSON.parse(readFileSync(join(folder, 'dump_epoch_0'), 'utf8'))
    expect(batch['AUC.prediction'][1]).toEqual(batch['AUC.prediction'][0])
  })

  test('with a converter is read by the class Reader beside it, which sees the keys it does not share', async () => {
    job(
      CONFIG.replace('sparse_slots: "click user item"', 'data_converter: reader.py\n  scale: 2').replace(
        '  dense_slots: "x:[1,2]"\n',
        '',
      ),
    )
    writeFileSync(
      join(folder, 'reader.ts'),
      `export class Reader {
  constructor({ runner }) { this.scale = runner.custom.scale }
  generateSample(line) {
    const values = line.split(' ').map((item) => Number(item.split(':')[1]))
    return [[['click', [values[0]]], ['user', [values[1]]], ['x', [values[3] * this.scale]]], null]
  }
}`,
    )
    writeFileSync(
      join(folder, 'model.ts'),
      MODEL.replace(
        'export class Model {',
        `export class Model {
  inputData({ label, sparse, dense }) { return { label: label('click'), sparse: { user: sparse('user') }, dense: { x: dense('x', 1) } } }`,
      ),
    )
    const { result } = await run()
    expect(result.runners[0]!.samples).toBe(3 * 40)
  })

  test('that lists other slots than the model reads is refused with the list that is right', async () => {
    job(CONFIG.replace('{workspace}/model.py', 'paddlerec_model/model.py'))
    mkdirSync(join(folder, 'paddlerec_model'))
    writeFileSync(
      join(folder, 'paddlerec_model/static_model.ts'),
      `import { optimizer } from 'oarfish'
import { mean } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export class StaticModel {
  createFeeds({ label, sparse, dense }) { return { click: label('click'), ids: sparse('shop'), x: dense('x', 3) } }
  net({ click, x }) { return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(x, { name: 'fc', out: 1 }), click)) } }
  createOptimizer() { return optimizer.sgd() }
}`,
    )
    const message = await failure()
    expect(message).toContain('dataset.data.sparse_slots: the model also reads shop')
    expect(message).toContain('sparse_slots: "click user item shop"')
    expect(message).toContain('dataset.data.dense_slots: the model reads 3 values of x, here it has 2')
    expect(message).toContain('dense_slots: "x:3"')
  })

  test.each([
    ['{workspace}/data', '{workspace}/dat', 'no such folder'],
    ['{workspace}/data', '{workspace}/data/part-0', 'expected a folder, got the file'],
  ])('whose folder is not there says so with the nearest: %s for %s', async (right, wrong, words) => {
    job(CONFIG.replace(right, wrong))
    const message = await failure()
    expect(message).toContain(words)
    expect(message).toContain(`data_path: "${right}"`)
  })
})

describe('a model', () => {
  test('in Python with no TypeScript beside it says so', async () => {
    job()
    rmSync(join(folder, 'model.ts'))
    writeFileSync(join(folder, 'model.py'), 'class Model: pass')
    expect(await failure()).toContain('model.py is Python, and there is neither model.ts nor static_model.ts beside it')
  })

  test('with an optimizer that 1.x does not have is refused at its place', async () => {
    job(CONFIG.replace('class: Adam', 'class: Adamm'))
    const message = await failure()
    expect(message).toContain(
      'hyper_parameters.optimizer.class: configured optimizer can only supported SGD/Adam/Adagrad, got "Adamm"',
    )
    expect(message).toContain('class: Adam,')
  })
})
