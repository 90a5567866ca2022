/** @file Options that nobody knows, names that do not exist and metrics of another shape: refused where they were written. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../base/config/index.ts'
import { formatUserError, type UserError } from '../base/util/index.ts'
import { ortEngine } from '../graph/engine/index.ts'
import { type GraphMode, loadModelAs } from './index.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-options-'))
afterAll(() => rmSync(root, { recursive: true }))

interface Parts {
  readonly logit?: string
  readonly metric?: string
  readonly optimizer?: string
}

const MODEL = ({
  logit = "nn.linear(x, { name: 'fc', out: 1 })",
  metric = 'metric.auc(outputs.predict, click)',
  optimizer = 'optimizer.sgd()',
}: Parts) => `import { defineModel, metric, optimizer } from 'oarfish'
import * as nn from 'oarfish/nn'
export default defineModel({
  inputs: ({ label, sparse, dense }) => ({ click: label('click'), slot: sparse('1'), x: dense('x', 4) }),
  net({ click, slot, x }) {
    const logit = ${logit}
    const loss = nn.mean(nn.sigmoidCrossEntropy(logit, click))
    return { loss, outputs: { predict: nn.sigmoid(logit), wide: x } }
  },
  metrics: ({ outputs }, { click, x }) => ({ one: ${metric} }),
  optimizer: () => ${optimizer},
})
`

async function load(text: string, mode: GraphMode = 'static') {
  const folder = mkdtempSync(join(root, 'model-'))
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'config.yaml'), 'runner:\n  train_data_dir: data\n  train_batch_size: 2\n')
  // As JavaScript: nobody has checked its types.
  writeFileSync(join(folder, 'model.js'), text)
  writeFileSync(join(folder, 'model.ts'), text)
  return loadModelAs(mode, loadConfig({ path: join(folder, 'config.yaml') }))
}

async function refusal(parts: Parts): Promise<string> {
  const error = await load(MODEL(parts)).then(
    () => expect.fail('it was loaded'),
    (error: UserError) => error,
  )
  return formatUserError(error).replaceAll(/\S*oarfish-options-\w+\/model-\w+\//g, '')
}

function expectAt(said: string, line: number, message: string, hint: string): void {
  expect(said).toContain(message)
  expect(said).toContain(hint)
  expect(said).toMatch(new RegExp(`^model\\.[jt]s:${line}:\\d+`))
}

const OPTIMIZERS: readonly (readonly [string, string, string])[] = [
  ['optimizer.adam({ learning_rate: 5 })', 'optimizer.adam has no option "learning_rate"', 'learningRate?'],
  ["optimizer.sgd({ learningRate: '0.1' })", 'learningRate is "0.1", not a number', 'Write a number'],
  ['optimizer.sgd({ learningRate: Number.NaN })', 'learningRate is NaN', 'Write a number'],
  ["optimizer.adam({ lazy: 'yes' })", 'lazy is "yes"', 'lazy: true or lazy: false'],
  ["optimizer.adam({ schedule: { kind: 'cosin', steps: 5 } })", 'schedule is of no known kind ("cosin")', "'cosine'"],
  ["optimizer.adam({ schedule: { kind: 'cosine' } })", 'schedule "cosine" needs steps', 'Add steps:'],
  [
    "optimizer.adam({ schedule: { kind: 'warmup', steps: 5, after: { kind: 'exp' } } })",
    'after the warm-up is of no known kind',
    'exponential',
  ],
  ["optimizer.sgd({ clip: { kind: 'norm', limit: 1 } })", 'clip "norm" has no option "limit"', 'options: max'],
  ['optimizer.adamw({})', 'there is no optimizer.adamw', 'Did you mean optimizer.adam?'],
]

const LAYERS: readonly (readonly [string, string, string])[] = [
  ["nn.linear(x, { name: 'fc', out: 1, bias: false })", 'nn.linear has no option "bias"', 'biasInit'],
  ["nn.mlp(x, { name: 'fc', sizes: [1], size: 3 })", 'nn.mlp has no option "size"', 'Did you mean sizes?'],
  ["nn.linear(x, { name: 'fc', out: 1, activation: 'Relu' })", 'no activation "Relu"', "Did you mean 'relu'?"],
  [
    "nn.linear(nn.embedding(slot, { name: 'e', dim: 4, pool: 'mean' }), { name: 'fc', out: 1 })",
    'nn.embedding has no option "pool"',
    'pooling',
  ],
  ["nn.linear(nn.dropout(x, { name: 'd', p: 0.1 }), { name: 'fc', out: 1 })", 'nn.dropout has no option "p"', 'rate'],
  ["new nn.Mlp({ in: 4, sizes: [1], act: 'relu' }).named('fc').forward(x)", 'nn.Mlp has no', '"act"'],
  [
    "new nn.Embedding({ dim: 1, dims: 4 }).named('e').forward(slot)",
    'nn.Embedding has no option "dims"',
    'Did you mean dim?',
  ],
]

describe('what a model cannot have is refused', () => {
  test.each(OPTIMIZERS)('%s', async (optimizer, message, hint) => {
    const said = await refusal({ optimizer })
    expectAt(said, 11, message, hint)
  })

  test.each(LAYERS)('%s', async (logit, message, hint) => {
    const said = await refusal({ logit })
    expectAt(said, 6, message, hint)
  })

  test.each([
    ['metric.aux(outputs.predict, click)', 'there is no metric.aux', 'Did you mean metric.auc?'],
    ['metric.auc(outputs.predict, x)', 'metric.auc of a prediction [B, 1] and a label [B, 4]', 'a label [B, 1]'],
    ['metric.auc(nn.mean(outputs.predict), click)', 'metric.auc of a prediction []', 'Give a prediction [B, 1]'],
  ])('%s', async (metric, message, hint) => {
    const said = await refusal({ metric })
    expectAt(said, 10, message, hint)
  })
})

test('a mean of several values is their mean, not that of the first sample', async () => {
  const { infer, metrics } = await load(MODEL({ metric: 'metric.mean(outputs.wide)' }))
  expect(metrics).toMatchObject([{ kind: 'mean', name: 'one', value: 'metric:one' }])
  const session = await ortEngine().compile(infer)
  const floats = (dims: number[], data: number[]) => ({ dims, data: Float32Array.from(data) })
  const { 'metric:one': one } = await session.run({
    click: { dims: [2, 1], data: BigInt64Array.of(0n, 1n) },
    x: floats([2, 4], [1, 2, 3, 4, 5, 6, 7, 8]),
    'fc.weight': floats([4, 1], [0, 0, 0, 0]),
    'fc.bias': floats([1], [0]),
  })
  expect(one).toMatchObject({ dims: [], data: Float32Array.of(4.5) })
})
