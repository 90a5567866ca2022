/** @file Mistakes that users make in a model, its config and its data: each is told with where it is, why it is wrong, and what to do. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { capture } from '../src/cli/capture.testing.ts'
import { oarfish } from './oarfish.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

const MODEL = `import { defineModel, metric, optimizer, z } from 'oarfish'
import { add, concat, log, mean, reshape, sigmoid, sum } from 'oarfish/nn'
import * as nn from 'oarfish/nn'

export default defineModel({
  hyperParameters: { learning_rate: z.number().positive().default(0.01), dim: z.int().default(16) },
  inputs: ({ label, sparse, dense }) => ({
    click: label('click'),
    user: sparse('user'),
    item: sparse('item'),
    x: dense('x', 3),
  }),
  net({ click, user, item, x }, { dim }) {
    const u = nn.embedding(user, { name: 'user', dim }) // [B, 16]
    const i = nn.embedding(item, { name: 'item', dim }) // [B, 16]
    const logit = nn.mlp(concat([u, i, x], 1), { name: 'fc', sizes: [16, 1] }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },
  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),
  optimizer: ({ learning_rate }) => optimizer.adam({ learningRate: learning_rate, lazy: true }),
})
`
const CONFIG = `runner:
  train_data_dir: "data/train"
  test_data_dir: "data/test"
  train_batch_size: 20
  epochs: 1
  use_auc: True
  model_save_path: ""
`
const DATA = Array.from(
  { length: 100 },
  (_, n) => `click:${n % 2} user:${n % 7} item:${n % 5} x:0.1 x:0.2 x:${n % 3}\n`,
).join('')
const reader = (body: string) => `import { BaseRecDataset } from 'oarfish'
export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator]() {
    for await (const line of this.lines()) {
      ${body}
    }
  }
}
`

type Files = Record<string, string>
type Change = (files: Files) => void
const swap =
  (file: string, from: string, to: string): Change =>
  (files) => {
    expect(files[file]).toContain(from)
    files[file] = files[file]!.replace(from, () => to)
  }
const model = (from: string, to: string) => swap('model.ts', from, to)
/** A line more, before that of the logit: line 16. */
const line = (text: string) => model('    const logit', `    ${text}\n    const logit`)
const config = (from: string, to: string) => swap('config.yaml', from, to)
const put =
  (file: string, text: string): Change =>
  (files) => {
    files[file] = text
  }

interface Mistake {
  readonly change: Change
  /** @default check: before anything is trained */
  readonly command?: readonly string[]
  /** file:line and, of a model, the call. */
  readonly where: RegExp
  readonly why: RegExp
  readonly fix: RegExp
}

const CONCAT = 'concat([u, i, x], 1)'
const LOSS = 'mean(nn.sigmoidCrossEntropy(logit, click))'

const MISTAKES: Readonly<Record<string, Mistake>> = {
  'shapes that differ': {
    change: line("const like = nn.cosineSimilarity(u, nn.linear(i, { name: 'p', out: 32 }))"),
    where: /model\.ts:16 nn\.cosineSimilarity\(\.\.\.\): /,
    why: /dimensions 16 and 32/,
    fix: /Make them equal/,
  },
  'ranks that differ': {
    change: model(CONCAT, 'concat([u, sum(x, 1)], 1)'),
    where: /model\.ts:16 concat\(/,
    why: /\[B, 16\] and \[B\] differ/,
    fix: /Make them equal there/,
  },
  'an axis that is not there': {
    change: model(CONCAT, 'concat([u, i, x], 2)'),
    where: /model\.ts:16 concat/,
    why: /Axis 2 does not exist/,
    fix: /Use -2 to 1/,
  },
  'a reshape that does not divide': {
    change: line('const y = reshape(x, [-1, 2])'),
    where: /model\.ts:16 reshape/,
    why: /\[B, 3\] does not divide/,
    fix: /product divides/,
  },
  'dtypes that differ': {
    change: line('const y = add(x, click)'),
    where: /model\.ts:16 add\(/,
    why: /float32 and int64 differ/,
    fix: /cast\(x, 'float32'\)/,
  },
  'a slot in place of a tensor': {
    change: model(CONCAT, 'concat([user as any, x], 1)'),
    where: /model\.ts:16 concat/,
    why: /the sparse slot "user", which is no tensor/,
    fix: /nn\.embedding\(user/,
  },
  'a tensor in place of a slot': {
    change: model('nn.embedding(user,', 'nn.embedding(x as any,'),
    where: /model\.ts:14 nn\.embedding/,
    why: /a tensor in place of a sparse slot/,
    fix: /sparse\('user'\)/,
  },
  'undefined given to a layer': {
    change: line("const y = nn.linear((user as any).age, { name: 'a', out: 2 })"),
    where: /model\.ts:16 nn\.linear/,
    why: /undefined/,
    fix: /undefined|no value/,
  },
  'undefined given to an op': {
    change: line('const y = add((user as any).age, x)'),
    where: /model\.ts:16 add/,
    why: /given undefined, which is no tensor/,
    fix: /check how it is spelt/,
  },
  'a group that is no input': {
    change: model('auc: metric.auc(predict, click)', 'gauc: metric.gauc(predict, click, { by: predict } as any)'),
    where: /model\.ts:19:\d+ metric\.gauc/,
    why: /third argument, the group, is no input/,
    fix: /metric\.gauc\(predict, click, user\)/,
  },
  'two numbers for an op': {
    change: line('const y = add(1, 2)'),
    where: /model\.ts:16 add/,
    why: /two numbers/,
    fix: /plain numbers/,
  },
  'an input that is not declared': {
    change: model('net({ click, user, item, x }', 'net({ click, user, itme: item, x }: any'),
    where: /model\.ts:13/,
    why: /no input "itme"/,
    fix: /Did you mean item\?/,
  },
  'a layer that does not exist': {
    change: model('nn.mlp(', '(nn as any).mlpp('),
    where: /model\.ts:16/,
    why: /oarfish\/nn does not export "mlpp"/,
    fix: /Did you mean (mlp|Mlp)\?/,
  },
  'an import that does not exist': {
    change: (files) => {
      model('log, mean', 'log, meen, mean')(files)
      line('meen(x)')(files)
    },
    where: /model\.ts:16/,
    why: /does not export "meen"/,
    fix: /Did you mean mean\?/,
  },
  'an option that a layer does not have': {
    change: model("name: 'user', dim", "name: 'user', dims: dim, dim"),
    where: /model\.ts:14/,
    why: /no option "dims"/,
    fix: /Did you mean dim\?/,
  },
  'an activation that does not exist': {
    change: model('sizes: [16, 1] }', "sizes: [16, 1], activation: 'rleu' as any }"),
    where: /model\.ts:16/,
    why: /no activation "rleu"/,
    fix: /Did you mean 'relu'\?/,
  },
  'a layer without a name': {
    change: model("{ name: 'user', dim }", '{ dim } as any'),
    where: /model\.ts:14 nn\.embedding/,
    why: /has no name/,
    fix: /name: 'user'/,
  },
  'two layers of one name': {
    change: line("const [a, b] = [1, 2].map((out) => nn.linear(x, { name: 'a', out }))"),
    where: /model\.ts:16 nn\.linear/,
    why: /already a parameter named "a\.weight"/,
    fix: /another name/,
  },
  'a loss that is no scalar': {
    change: model(LOSS, 'nn.sigmoidCrossEntropy(logit, click)'),
    where: /model\.ts:13/,
    why: /shape \[B, 1\]; it must be a scalar/,
    fix: /mean\(cost\)/,
  },
  'a net that returns nothing': {
    change: model('return { loss', 'const lost = { loss'),
    where: /model\.ts:13/,
    why: /net returned nothing/,
    fix: /return \{ loss/,
  },
  'a net that is async': {
    change: model('  net({', '  async net({'),
    where: /model\.ts:13/,
    why: /a promise/,
    fix: /not async/,
  },
  'an output that is no tensor': {
    change: model('predict: sigmoid(logit) }', "predict: 'logit' as any }"),
    where: /model\.ts:13/,
    why: /outputs\.predict, which is no tensor/,
    fix: /return \{ loss/,
  },
  'a metric of the wrong shape': {
    change: model('metric.auc(predict, click)', 'metric.auc(mean(predict), click)'),
    where: /model\.ts:19/,
    why: /metric\.auc of a prediction \[\] and a label \[B, 1\]/,
    fix: /Give a prediction \[B, 1\]/,
  },
  'a metric whose arguments are swapped': {
    change: model('metric.auc(predict, click)', 'metric.auc(click, predict)'),
    where: /model\.ts:19/,
    why: /metric\.auc: the prediction is int64 \[B, 1\], the label float32 \[B, 1\]: they seem to be swapped/,
    fix: /metric\.auc\(predict, click\)/,
  },
  'an optimizer that does not exist': {
    change: model('optimizer.adam(', '(optimizer as any).adamw('),
    where: /model\.ts:20/,
    why: /no optimizer\.adamw; there are optimizer\.sgd/,
    fix: /Did you mean optimizer\.adam\?/,
  },
  'an option that an optimizer does not have': {
    change: model('learningRate: learning_rate', 'learning_rate: learning_rate as any'),
    where: /model\.ts:20/,
    why: /no option "learning_rate"/,
    fix: /Did you mean learningRate\?/,
  },
  'a hyper-parameter that is not declared': {
    change: model('{ dim }) {', '{ dims: dim }: any) {'),
    where: /model\.ts:13/,
    why: /no hyper-parameter "dims"/,
    fix: /Did you mean dim\?/,
  },
  'a dense input without a width': {
    change: model("dense('x', 3)", "(dense as any)('x')"),
    where: /model\.ts:11/,
    why: /The input x has the dimension undefined/,
    fix: /dense\('x', 13\)/,
  },
  'a model that throws': {
    change: line("throw new Error('not today')"),
    where: /model\.ts:16/,
    why: /Error: not today/,
    fix: /this line of your own file/,
  },
  'a file that is not beside the model': {
    change: (files) => {
      model('import * as nn', "import { tower } from './towers'\nimport * as nn")(files)
      line('tower(x)')(files)
    },
    where: /model\.ts:3 /,
    why: /Cannot find module '\.\/towers'/,
    fix: /a file beside this one/,
  },
  'what is no TypeScript': {
    change: model('net({', 'net({{'),
    where: /model\.ts:13:7/,
    why: /no TypeScript: Unexpected token/,
    fix: /Mend it there/,
  },
  'no default export': {
    change: model('export default ', 'export const mine = '),
    where: /model\.ts:5/,
    why: /no default export; this file exports mine/,
    fix: /export default defineModel/,
  },
  'a slot that the data has under another name': {
    change: model("sparse('item')", "sparse('items')"),
    where: /part-0/,
    why: /declares "items", which none/,
    fix: /Did you mean "item"\?/,
  },
  'another width than the data has': {
    change: model("dense('x', 3)", "dense('x', 4)"),
    where: /part-0:1/,
    why: /4 values, the data has 3/,
    fix: /Declare in inputs/,
  },
  'a mistyped key': {
    change: config('epochs:', 'epoch:'),
    where: /config\.yaml:5:3/,
    why: /unknown key/,
    fix: /did you mean "epochs"/,
  },
  'a folder that is not there': {
    change: config('data/train', 'data/trian'),
    where: /config\.yaml:2:19/,
    why: /no such folder/,
    fix: /did you mean "data\/train"/,
  },
  'an empty file': {
    change: put('data/train/part-0', ''),
    where: /part-0/,
    why: /All 1 data files are empty/,
    fix: /runner\.train_data_dir/,
  },
  'NaN among the features': {
    change: swap('data/train/part-0', 'x:0.1', 'x:nan'),
    where: /part-0:1:\d+/,
    why: /expected a finite 32-bit number, found "nan"/,
    fix: /on_bad_line: skip/,
  },
  'a word in place of a sign': {
    change: swap('data/train/part-0', 'user:3', 'user:bob'),
    where: /part-0:4:14/,
    why: /found "bob"/,
    fix: /Mend the line/,
  },
  'a reader that throws': {
    change: put('reader.ts', reader('yield JSON.parse(line)')),
    where: /reader\.ts:5 /,
    why: /before its first sample of .*part-0: SyntaxError/,
    fix: /oarfish check -m config\.yaml reads/,
  },
  'a reader that yields nothing': {
    change: put('reader.ts', reader('if (line.length < 0) yield { click: [1] }')),
    where: /training data/,
    why: /gave no sample/,
    fix: /runner\.train_data_dir/,
  },
  'a loss that is no number': {
    change: model(LOSS, 'mean(log(add(logit, -5)))'),
    command: ['train', '--debug-nan'],
    where: /model\.ts:17 log\(/,
    why: /log\(-[\d.]+\) = NaN/,
    fix: /Keep what goes into log above 0/,
  },
  'a loss that is no number, without asking why': {
    change: model(LOSS, 'mean(log(add(logit, -5)))'),
    command: ['train'],
    where: /epoch 0, batch 0/,
    why: /the loss became NaN/,
    fix: /--debug-nan/,
  },
  'a batch that does not fit': {
    change: config('train_batch_size: 20', 'train_batch_size: 2000000000'),
    command: ['train'],
    where: /A batch of 2,000,000,000 samples/,
    why: /needs [\d.]+ TB in each trainer thread; 2\.1 GB fit/,
    fix: /The largest that fits is \d+/,
  },
  'a layer that does not fit': {
    change: model('sizes: [16, 1]', 'sizes: [2000000000, 1]'),
    command: ['train'],
    where: /The largest is fc\.0\.weight/,
    why: /need [\d.]+ GB; 4\.3 GB fit/,
    fix: /Make that layer smaller/,
  },
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-mistake-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('there are thirty and more', () => {
  expect(Object.keys(MISTAKES).length).toBeGreaterThanOrEqual(30)
})

function writeFiles(change: Change = () => undefined): void {
  const files: Files = { 'model.ts': MODEL, 'config.yaml': CONFIG, 'data/train/part-0': DATA, 'data/test/part-0': DATA }
  change(files)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

test.each(Object.entries(MISTAKES))('%s', async (_, { change, command = ['check'], where, why, fix }) => {
  writeFiles(change)
  const words = [...command, '-m', join(folder, 'config.yaml')]
  // Threads that train have a process of their own.
  const { code, err } = await (command[0] === 'train' ? oarfish(words, folder) : capture(words))
  expect(err).toMatch(where)
  expect(err).toMatch(why)
  expect(err).toMatch(fix)
  expect(code).toBe(2)
  expect(err).not.toMatch(/[\\/](dist|src)[\\/].*\.[jt]s:\d|internal/)
})

const TOOLS = fileURLToPath(new URL('../tools/', import.meta.url))

test.each([
  ['servers', ['--server_num=1', '--worker_num=2', `${TOOLS}static_ps_trainer.py`], ['--debug-nan'], {}],
  [
    'servers, by the environment',
    ['--server_num=1', '--worker_num=1', `${TOOLS}static_ps_trainer.py`],
    [],
    { OARFISH_DEBUG_NAN: '1' },
  ],
  ['ranks', ['--nproc_per_node=2', `${TOOLS}static_trainer.py`], ['--debug-nan'], {}],
])('a loss that is no number in a job with %s', async (_, launch, flags, env) => {
  writeFiles(model(LOSS, 'mean(log(add(logit, -5)))'))
  const { code, out, err } = await oarfish(['launch', ...launch, '-m', 'config.yaml', ...flags], folder, undefined, env)
  expect(out + err).toMatch(
    /The loss became NaN at epoch 0, batch 0; .* model\.ts:17 log\(\[20, 1\]\) made NaN .* log\(-[\d.]+\) = NaN/,
  )
  expect(out + err).toMatch(/Keep what goes into log above 0/)
  expect(code).toBe(2)
})

test('what is right is valid, and a mistyped option does not hide the missing one', async () => {
  writeFiles()
  expect(await capture(['check', '-m', join(folder, 'config.yaml')])).toMatchObject({ code: 0, err: '' })
  const { code, err } = await capture(['train', '--mod', 'x'])
  expect([code, err]).toEqual([
    2,
    "error: required option '-m, --config_yaml <file>' not specified\nerror: unknown option '--mod' (Did you mean --mode?)\n",
  ])
})
