import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../base/config/index.ts'
import { formatUserError, type UserError } from '../base/util/index.ts'
import { type GraphMode, loadModelAs } from './index.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-define-'))
afterAll(() => rmSync(root, { recursive: true }))

const MODEL = `import { defineModel, metric, optimizer, z } from 'oarfish'; import { mean, sigmoid } from 'oarfish/nn'; import * as nn from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: z.strictObject({ rate: z.number().default(0.1) }).prefault({}),
    width: z.int().default(2),
    note: z.string().optional(),
  },
  inputs: ({ label, sparse, dense }, { width }) => ({ click: label('click'), slot: sparse('1'), x: dense('x', width) }),
  net({ click, slot, x }, { note }) {
    const logit = nn.linear(x, { name: note ?? 'fc', out: 1 })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },
  metrics: ({ outputs }, { click }) => ({ auc: metric.auc(outputs.predict, click) }),
  optimizer: (hyper) => optimizer.sgd({ learningRate: hyper.optimizer.rate }),
})
`

/** A folder of these files, loaded; each is a folder of its own, since a module is loaded once. */
async function load(files: Readonly<Record<string, string>>, mode: GraphMode = 'static', more = '') {
  const folder = mkdtempSync(join(root, 'model-'))
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'config.yaml'), `runner:\n  train_data_dir: data\n  train_batch_size: 2\n${more}`)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const loaded = loadConfig({ path: join(folder, 'config.yaml') })
  return { folder, notices: loaded.notices, model: await loadModelAs(mode, loaded) }
}

/** What is printed, with the folder left out. */
async function refusal(
  files: Readonly<Record<string, string>>,
  mode: GraphMode = 'static',
  more = '',
): Promise<string> {
  const error = await load(files, mode, more).then(
    () => expect.fail('it was loaded'),
    (error: UserError) => error,
  )
  return formatUserError(error).replaceAll(/\S*oarfish-define-\w+\/model-\w+\//g, '')
}

const line = (part: string, text = MODEL) => text.split('\n').findIndex((own) => own.includes(part)) + 1

describe('a model', () => {
  test('gives a static graph and what a dynamic one owns, from one net', async () => {
    const { model } = await load({ 'model.ts': MODEL })
    expect(model.slots.map(({ name }) => name)).toEqual(['click', '1', 'x'])
    expect(model.train.fetches.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['loss', 'grad:fc.weight', 'grad:fc.bias']),
    )
    expect(model.outputs).toEqual(['predict'])
    expect(model.metrics).toMatchObject([{ kind: 'auc', name: 'auc' }])
    expect(model.optimizer).toMatchObject({ kind: 'sgd', learningRate: 0.1 })
    const { model: dynamic } = await load({ 'model.ts': MODEL }, 'dygraph')
    expect(dynamic.train.parameters.map(({ name }) => name)).toEqual(['fc.weight', 'fc.bias'])
    expect(dynamic).toMatchObject({ slots: model.slots, metrics: model.metrics, optimizer: model.optimizer })
  })

  test('without hyper-parameters takes none, without metrics has the loss, and an optimizer may be given as it is', async () => {
    const bare = `import { defineModel, optimizer } from 'oarfish'; import { mean } from 'oarfish/nn'; import * as nn from 'oarfish/nn'
export default defineModel({
  inputs: ({ dense }) => ({ x: dense('x', 2), y: dense('y', 1) }),
  net: ({ x, y }) => ({ loss: mean(nn.squareError(nn.linear(x, { name: 'fc', out: 1 }), y)) }),
  optimizer: optimizer.sgd({ learningRate: 0.5 }),
})`
    expect((await load({ 'model.ts': bare })).model).toMatchObject({ metrics: [], optimizer: { learningRate: 0.5 } })
    expect(await refusal({ 'model.js': bare }, 'static', 'hyper_parameters:\n  width: 3\n')).toContain(
      'config.yaml:5:3 hyper_parameters.width: unknown key',
    )
  })

  test('is told how it runs: training or not, the mode, the device, sync_mode', async () => {
    const text = MODEL.replace('{ note }) {', "{ note }, run) {\n    console.log('run', JSON.stringify(run))").replace(
      'optimizer: (hyper) =>',
      "optimizer: (hyper, run) => console.log('run', JSON.stringify(run)) ??",
    )
    const said: unknown[] = []
    const { log } = console
    console.log = (...words: unknown[]) => {
      if (words[0] === 'run') said.push(JSON.parse(String(words[1])))
    }
    try {
      await load({ 'model.ts': text }, 'static', '  sync_mode: geo\n')
      const common = { mode: 'static', device: 'cpu', sync_mode: 'geo' }
      expect(said).toEqual([true, false, true].map((training) => ({ ...common, training })))
      said.length = 0
      await load({ 'model.ts': text }, 'dygraph')
      expect(said).toContainEqual({ mode: 'dygraph', device: 'cpu', sync_mode: 'async', training: true })
    } finally {
      console.log = log
    }
  })

  test('that reads an optional hyper-parameter gets undefined', async () => {
    expect((await load({ 'model.ts': MODEL })).model.train.parameters[0]!.name).toBe('fc.weight')
    const { model } = await load({ 'model.ts': MODEL }, 'static', 'hyper_parameters:\n  note: named\n')
    expect(model.train.parameters[0]!.name).toBe('named.weight')
  })
})

describe('a file that is no model says where and what to write:', () => {
  test('no default export', async () => {
    const text = MODEL.replace('export default', 'export const model =')
    expect(await refusal({ 'model.ts': text })).toMatchInlineSnapshot(`
      "model.ts:3 there is no default export; this file exports model
        export default defineModel({ hyperParameters, inputs, net, metrics, optimizer }), as in models/rank/dnn/model.ts"
    `)
    expect(await refusal({ 'model.ts': '/** Nothing. */\n' })).toMatchInlineSnapshot(`
      "model.ts:1 there is no default export; this file exports nothing
        export default defineModel({ hyperParameters, inputs, net, metrics, optimizer }), as in models/rank/dnn/model.ts"
    `)
  })

  test('another default export', async () => {
    const text = MODEL.replace('export default defineModel({', 'export default ({')
    expect(await refusal({ 'model.ts': text })).toMatchInlineSnapshot(`
      "model.ts:3 the default export is not what defineModel returns; this file exports default
        export default defineModel({ hyperParameters, inputs, net, metrics, optimizer }), as in models/rank/dnn/model.ts"
    `)
  })

  test('both forms in one file', async () => {
    expect(await refusal({ 'model.ts': `${MODEL}\nexport class StaticModel {}\n` })).toMatchInlineSnapshot(`
      "model.ts:18 this file exports a class StaticModel beside defineModel's default export: a model has one form
        Delete one of them; a class StaticModel that is meant stands in a file of its own (docs/guide/writing-models.md)."
    `)
  })

  test.each([
    ['an unknown field', MODEL.replace('metrics:', 'metric:'), 'metric:'],
    ['a field of the wrong kind', MODEL.replace(/metrics: .*/, "metrics: ['auc'],"), 'metrics:'],
    ['no net', MODEL.replace(/ {2}net\([\s\S]*?\n {2}},\n/, ''), 'defineModel({'],
    [
      'a field whose name is a hyper-parameter too',
      MODEL.replace(/^ {2}optimizer: .*/m, "  optimizer: 'sgd',"),
      "'sgd'",
    ],
    ['a hyper-parameter without a type', MODEL.replace('z.int().default(2)', '2'), 'hyperParameters:'],
  ])('%s', async (_, text, part) => {
    const message = await refusal({ 'model.ts': text })
    expect(message).toContain(`model.ts:${line(part, text)} defineModel: `)
    expect(message.replace(/^.*?defineModel: /, '')).toMatchSnapshot()
  })
})

describe('a folder', () => {
  const STATIC = `import { optimizer } from 'oarfish'; import { mean } from 'oarfish/nn'; import * as nn from 'oarfish/nn'
export class StaticModel {
  createFeeds({ label, dense }) { return { click: label('click'), x: dense('x', 2) } }
  net({ click, x }) { return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(x, { name: 'own', out: 1 }), click)) } }
  createOptimizer() { return optimizer.sgd() }
}
`
  const DYGRAPH = `import { optimizer } from 'oarfish'; import { mean } from 'oarfish/nn'; import * as nn from 'oarfish/nn'
class Net extends nn.Layer {
  fc = this.addSublayer('dynamic', new nn.Linear({ in: 2, out: 1 }))
}
export class DygraphModel {
  createFeeds({ label, dense }) { return { click: label('click'), x: dense('x', 2) } }
  createModel() { return new Net() }
  createOptimizer() { return optimizer.sgd() }
  createMetrics() { return {} }
  trainForward(model, { click, x }) { return { loss: mean(nn.sigmoidCrossEntropy(model.fc.forward(x), click)) } }
  inferForward(model, inputs) { return this.trainForward(model, inputs) }
}
`
  const first = async (files: Readonly<Record<string, string>>, mode: GraphMode) =>
    (await load(files, mode)).model.train.parameters[0]!.name

  test('with a file for one mode takes it for that mode, and model.ts for the other', async () => {
    const dynamic = { 'model.ts': MODEL, 'dygraph_model.ts': DYGRAPH }
    expect([await first(dynamic, 'static'), await first(dynamic, 'dygraph')]).toEqual(['fc.weight', 'dynamic.weight'])
    const fixed = { 'model.ts': MODEL, 'static_model.ts': STATIC }
    expect([await first(fixed, 'static'), await first(fixed, 'dygraph')]).toEqual(['own.weight', 'fc.weight'])
    expect((await load(dynamic)).notices).toEqual([])
    expect((await load(fixed)).notices).toEqual([
      'static_model.ts and model.ts are both here: static_model.ts is trained, model.ts with --mode dygraph; keep the one you mean',
    ])
  })

  test('in which nothing would read model.ts is refused', async () => {
    const files = { 'model.ts': MODEL, 'static_model.ts': STATIC, 'dygraph_model.ts': DYGRAPH }
    for (const mode of ['static', 'dygraph'] as const)
      expect(await refusal(files, mode)).toBe(
        'model.ts:3 nothing reads this model: static_model.ts and dygraph_model.ts beside it serve both modes\n  Delete static_model.ts and dygraph_model.ts, or this file.',
      )
    const helper = { 'model.ts': 'export const width = 3\n' }
    expect(await first({ ...files, ...helper }, 'static')).toBe('own.weight')
    expect((await load({ 'static_model.ts': STATIC, ...helper })).notices).toEqual([])
  })

  test('without a model says what was looked for', async () => {
    expect(await refusal({})).toContain('looked for static_model.ts, static_model.js, static_model.mjs, model.ts')
    expect(await refusal({ 'static_model.ts': STATIC }, 'dygraph')).toContain('looked for dygraph_model.ts')
    // A folder of PaddleRec as it was checked out.
    expect(await refusal({ 'net.py': 'pass\n' })).toContain('draft model.ts from its net.py:  oarfish port ')
    expect(await refusal({ 'model.ts': 'export class Model {}\n' }, 'dygraph')).toContain(
      'model.ts does not export a class DygraphModel; it exports Model',
    )
  })
})

describe('a net that asks for what is not there gets the names that are:', () => {
  test.each([
    ['an input', 'net({ click, slot, x }', 'net({ clik, slot, x }'],
    ['an input that is far from any', 'net({ click, slot, x }', 'net({ click, slot, temperature }'],
    ['a hyper-parameter', '{ width }) => ({ click', '{ widht }) => ({ click'],
    ['a hyper-parameter of a group', 'hyper.optimizer.rate', 'hyper.optimizer.learning_rate'],
    ['a part of the result', '({ outputs }, { click })', '({ output }, { click })'],
    ['a run setting', '{ note }) {', '{ note }, { threads }) {'],
  ])('%s', async (_, from, to) => {
    const text = MODEL.replace(from, to)
    for (const mode of ['static', 'dygraph'] as const) {
      const message = await refusal({ 'model.ts': text }, mode)
      expect(message).toMatch(new RegExp(`^model\\.ts:${line(to, text)}:\\d+ there is no `))
      if (mode === 'static') expect(message.replace(/^\S+ /, '')).toMatchSnapshot()
    }
  })
})

describe('a function that returns something else is refused where it stands:', () => {
  const net = (body: string) => MODEL.replace(/ {2}net\([\s\S]*?\n {2}},\n/, `  net: ${body},\n`)
  test.each([
    ['nothing', net('() => {}')],
    ['no loss', net('({ x }) => ({ predict: x })')],
    ['an output that is no tensor', net("({ x }) => ({ loss: mean(x), outputs: { predict: 'x' } })")],
    ['a promise', net('async ({ x }) => ({ loss: (await x.item()) > 0 ? mean(x) : x })')],
    ['a loss that is no scalar', net('({ x }) => ({ loss: x })')],
    ['a tensor for a metric', MODEL.replace('metric.auc(outputs.predict, click)', 'outputs.predict')],
    ['no optimizer', MODEL.replace('optimizer: (hyper) => optimizer.sgd', 'optimizer: (hyper) => void optimizer.sgd')],
    ['no inputs', MODEL.replace("=> ({ click: label('click')", "=> void ({ click: label('click')")],
  ])('%s', async (_, text) => {
    const message = await refusal({ 'model.ts': text })
    expect(message).toMatchSnapshot()
  })
})

test('the example in the comment of defineModel is a model', async () => {
  const source = readFileSync(fileURLToPath(new URL('define.ts', import.meta.url)), 'utf8')
  const example = /@example\n([\s\S]*?)\n \*\//.exec(source)![1]!.replaceAll(/^ \* /gm, '')
  const text = `import { defineModel, metric, optimizer, z } from 'oarfish'; import { mean, sigmoid } from 'oarfish/nn'; import * as nn from 'oarfish/nn'\n${example}`
  const { model } = await load({ 'model.ts': text })
  expect(model.train.parameters).toHaveLength(4)
})
