/** @file `oarfish port` and `oarfish parity` as the guide types them, on a net of our own; its weights and numbers are from a real Paddle 2.6.2. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { oarfish } from '../oarfish.testing.ts'
import { typeErrors } from './type-check.testing.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/port', import.meta.url))
const LIMIT = 240_000
let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-port-'))
  await cp(FIXTURE, folder, { recursive: true })
})
afterEach(() => rm(folder, { recursive: true }))

const draft = () => readFile(join(folder, 'model.ts'), 'utf8')
const parity = (...more: readonly string[]) =>
  oarfish(['parity', '--paddle', 'rec.pdparams', '-m', 'config.yaml', ...more], folder)
const replace = async (name: string, from: string, to: string) => {
  const text = await readFile(join(folder, name), 'utf8')
  expect(text).toContain(from)
  await writeFile(join(folder, name), text.replace(from, to))
}

test(
  'a draft has layers, weights, hyper-parameters, inputs, metrics and the optimizer, and type-checks',
  async () => {
    const { code, out, err } = await oarfish(['port', 'net.py', 'static_model.py'], folder)
    expect(code, err).toBe(0)
    expect(out).toContain('drafted from net.py and static_model.py with the values of config.yaml')
    expect(out).toContain('oarfish parity --paddle rec.pdparams -m config.yaml')
    const text = await draft()
    for (const line of [
      "optimizer: optimizerKeys('Adam', { learning_rate: z.number().default(0.001) }),",
      'sizes: z.array(z.number()).default([4]),',
      'width: z.number().default(3),',
      // the slots of the reader, in its order
      "const label = feeds.label('click')",
      'range(1, hyper.fields + 1).map((i) => feeds.sparse(String(i)))',
      "const dense = feeds.dense('dense_feature', hyper.width)",
      "this.scale = this.addParameter({ name: 'scale', shape: [width], init: { kind: 'constant', value: 0.5 } })",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of the draft
      'this.addSublayer(`linear_${i}`, linear)',
      'lookup(this.embedding, ids)',
      'metrics: (result) => ({ auc: result.measured_auc }),',
      'optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true })',
    ])
      expect(text).toContain(line)
    expect(text.indexOf("feeds.label('click')")).toBeLessThan(text.indexOf("feeds.dense('dense_feature'"))
    // a branch that the config does not take stops instead of being left out
    expect(text).toMatch(
      /if \(use_bn\) \{\n\s+\/\/ net\.py:\d+: self\.norm = .*\n\s+throw unported<Error>\('net\.py:\d+: a branch that this config does not take'\)/,
    )
    await rm(join(folder, 'data'), { recursive: true })
    expect(await typeErrors(folder)).toEqual([])
  },
  LIMIT,
)

test(
  'a draft with the weights that Paddle trained computes what Paddle computed, and learns the same',
  async () => {
    expect((await oarfish(['port', '.'], folder)).code).toBe(0)
    const forward = await parity('--reference', 'forward.json', '--tolerance', '1e-6')
    expect(forward.out).toMatch(
      /3 batches compared\nlargest difference of a loss: .*\nlargest difference of a prediction: .*\nThe model agrees with Paddle\./,
    )
    expect(forward.out).toContain('linear_0.weight')
    expect(forward.code).toBe(0)
    const learned = await parity('--reference', 'training.json', '--tolerance', '1e-5', '--save', 'start')
    expect(learned.out).toContain('The model agrees with Paddle.')
    expect(learned.code).toBe(0)
    const train = await oarfish(['train', '-m', 'config.yaml', '-o', 'runner.model_init_path=start'], folder)
    expect(train.code, train.err).toBe(0)
  },
  LIMIT,
)

test(
  'numbers and weights that differ are named, and the exit code is 1',
  async () => {
    expect((await oarfish(['port', '.'], folder)).code).toBe(0)
    await replace('forward.json', '0.698123574256897', '0.71')
    const numbers = await parity('--reference', 'forward.json')
    expect(numbers.out).toMatch(
      /largest difference of a loss: 1\.19e-2 \(batch 0: 0\.698\d+ here, 0\.71 in Paddle\), above 0\.0001/,
    )
    expect(numbers.code).toBe(1)
    const shapes = await parity('-o', 'hyper_parameters.sizes=[5]')
    expect(shapes.out).toMatch(/linear_0\.weight +missing: the file has no weight for \[7, 5\]/)
    expect(shapes.out).toMatch(/linear_0\.w_0 +extra: the model has no such weight \[7, 4\]/)
    expect(shapes.code).toBe(1)
    await writeFile(join(folder, 'rec.pdparams'), "\x80\x04cos\nsystem\n(S'true'\ntR.", 'latin1')
    const code = await parity()
    expect(code.err).toContain('it names os.system, which is code, not weights')
    expect(code.code).toBe(2)
  },
  LIMIT,
)

test(
  'what cannot be translated stands as its line, and stops with it when it is run',
  async () => {
    await replace(
      'net.py',
      '        return F.sigmoid(x)',
      "        x = paddle.einsum('bi,bi->b', x, x)\n        return F.sigmoid(x)",
    )
    const { out } = await oarfish(['port', '.'], folder)
    expect(out).toMatch(
      /not translated .*\n {2}net\.py:\d+: x = paddle\.einsum\('bi,bi->b', x, x\)\n +paddle\.einsum: write it with nn\.matmul/,
    )
    expect(await draft()).toMatch(
      /\/\/ net\.py:\d+: x = paddle\.einsum\('bi,bi->b', x, x\)\n\s+x = unported<nn\.Tensor>\('net\.py:\d+: paddle\.einsum/,
    )
    const { code, err } = await oarfish(['check', '-m', 'config.yaml'], folder)
    expect(err).toMatch(/not translated yet: net\.py:\d+: paddle\.einsum/)
    expect(code).not.toBe(0)
    await rm(join(folder, 'data'), { recursive: true })
    expect(await typeErrors(folder)).toEqual([])
  },
  LIMIT,
)

test(
  'a gradient that Paddle stops is stopped, and what holds at inference or for one config alone is told',
  async () => {
    await replace(
      'net.py',
      '        return F.sigmoid(x)',
      '        x.stop_gradient = True\n        return F.sigmoid(x)',
    )
    const model = await readFile(join(folder, 'static_model.py'), 'utf8')
    const [, indent] = /\n( +)if is_infer:\n/.exec(model) ?? []
    expect(indent).toBeDefined()
    await replace(
      'static_model.py',
      `${indent}if is_infer:\n`,
      `${indent}if is_infer:\n${indent}    pred = pred * 2\n${indent}if is_infer:\n`,
    )
    const width = '        self.width = self.config.get("hyper_parameters.width", 3)\n'
    await replace('static_model.py', width, `${width}        if self.width == 3:\n            self.more = 1\n`)
    const { out } = await oarfish(['port', '.'], folder)
    expect(out).toMatch(/static_model\.py:\d+: decided by the values of this config/)
    expect(await draft()).toMatch(/x = nn\.stopGradient\(x\)/)
    expect(out).toMatch(
      /static_model\.py:\d+: pred = pred \* 2\n +done at inference alone: write it for !run\.training/,
    )
    expect(await draft()).toMatch(/\/\/ static_model\.py:\d+: pred = pred \* 2/)
  },
  LIMIT,
)

/** A folder as PaddleRec has thirteen: no static_model.py. */
const DYGRAPH = `import paddle
import net


class DygraphModel():
    def create_model(self, config):
        rows = config.get("hyper_parameters.rows")
        sizes = config.get("hyper_parameters.sizes")
        score_model = net.Score(rows, 2, 2, 3, sizes)
        return score_model

    def create_feeds(self, batch_data, config):
        label = paddle.to_tensor(batch_data[0].numpy().astype('int64').reshape(-1, 1))
        return label, batch_data[1:3], batch_data[3]

    def create_loss(self, pred, label):
        return paddle.mean(paddle.nn.functional.log_loss(pred, paddle.cast(label, 'float32')))

    def create_optimizer(self, dy_model, config, mode="train"):
        if mode == "train":
            lr = config.get("hyper_parameters.optimizer.learning_rate", 0.001)
        else:
            lr = 1.0
        optimizer = paddle.optimizer.Adam(learning_rate=lr, parameters=dy_model.parameters())
        return optimizer

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        label, ids, dense = self.create_feeds(batch_data, config)
        pred = dy_model.forward(ids, dense)
        loss = self.create_loss(pred, label)
        return loss, metrics_list, {'loss': loss}
`

test(
  'of a folder with dygraph_model.py alone, layers and optimizer are drafted, and the rest stands as its lines',
  async () => {
    await rm(join(folder, 'static_model.py'))
    await writeFile(join(folder, 'dygraph_model.py'), DYGRAPH)
    const { code, out, err } = await oarfish(['port', '.'], folder)
    expect(code, err).toBe(0)
    expect(out).toContain(
      'there is no static_model.py: layers and optimizer were followed as dygraph_model.py makes them',
    )
    expect(out).toMatch(/net\.py:\d+-\d+: dygraph_model\.py calls it with tensors of a batch/)
    const text = await draft()
    for (const line of [
      'const score_model = new Score(rows, 2, 2, 3, sizes)',
      'const dy_model = score_model',
      '// dygraph_model.py:14: return label, batch_data[1:3], batch_data[3]',
      '// dygraph_model.py:29: pred = dy_model.forward(ids, dense)',
      '// dygraph_model.py:17: return paddle.mean(paddle.nn.functional.log_loss(',
      "return { loss: unported<nn.Tensor>('dygraph_model.py:27: the loss is yours to write') }",
      'optimizer.adam({ learningRate: lr })',
    ])
      expect(text).toContain(line)
    // An argument with a default is decided.
    expect(text).not.toMatch(/\bmode\b/)
    const { err: stopped } = await oarfish(['check', '-m', 'config.yaml'], folder)
    expect(stopped).toMatch(/not translated yet: dygraph_model\.py:27: the loss is yours to write/)
    await rm(join(folder, 'data'), { recursive: true })
    expect(await typeErrors(folder)).toEqual([])
  },
  LIMIT,
)

test(
  'keyword arguments that nobody gives, names beside the imports and tests for None are followed',
  async () => {
    await replace(
      'net.py',
      'import paddle.nn.functional as F\n',
      'import paddle.nn.functional as F\n\nstart = nn.initializer\n',
    )
    await replace('net.py', 'use_bn=False):', 'use_bn=False, names=None, **kwargs):')
    await replace('net.py', 'super(Score, self).__init__()', 'super(Score, self).__init__(**kwargs)')
    await replace(
      'net.py',
      '        self.dim = dim\n',
      '        if sizes is None:\n            sizes = [8]\n        self.out = nn.Linear(1, 1, weight_attr=start.Normal(std=0.1))\n        self.add_sublayer("out", self.out)\n        self.dim = dim\n',
    )
    const { out } = await oarfish(['port', '.'], folder)
    expect(out).not.toContain('not translated (')
    const text = await draft()
    expect(text).toMatch(/if \(sizes === null\) \{/)
    expect(text).toContain("init: { kind: 'normal', mean: 0, std: 0.1 }")
    expect(text).not.toMatch(/^\s+this\.out$/m)
    await rm(join(folder, 'data'), { recursive: true })
    expect(await typeErrors(folder)).toEqual([])
  },
  LIMIT,
)

test(
  'what stands in the way is told in words',
  async () => {
    await replace(
      'net.py',
      '        return F.sigmoid(x)',
      "        y = paddle.einsum('bi,bi->b', x, x)\n        for part in y:\n            x = x + part\n        def twice(z):\n            return z * 2\n        x = x + None.size\n        return F.sigmoid(x)",
    )
    const { out } = await oarfish(['port', '.'], folder)
    expect(out).toContain('a loop over something that was not translated')
    expect(out).toContain('a function within a function: make it a method')
    expect(out).toContain('.size of None')
  },
  LIMIT,
)

test(
  'files that cannot be ported are refused with what to do',
  async () => {
    const port = (...args: readonly string[]) => oarfish(['port', ...args], folder)
    await writeFile(join(folder, 'model.ts'), 'mine')
    const there = await port('.')
    expect(there.err).toContain('model.ts is there already')
    expect(await draft()).toBe('mine')
    expect((await port('.', '--force')).code).toBe(0)
    expect((await port('net.py', '--out', '-')).out).toContain('export default defineModel({')
    const missing = await port('.', '--force', '--python', '/nonexistent/python3')
    expect(missing.err).toContain('there is no /nonexistent/python3 on this host')
    await writeFile(join(folder, 'broken.py'), 'class A(nn.Layer):\n    def forward(self:\n')
    expect((await port('broken.py', '--force')).err).toMatch(/broken\.py:2:\d+ Python cannot read it: /)
    expect((await port('slots_reader.py', '--force')).err).toContain('slots_reader.py: no class in it is a layer')
    await writeFile(join(folder, 'plain.py'), 'def net(x):\n    return x\n')
    await rm(join(folder, 'static_model.py'))
    expect((await port('plain.py', '--force')).err).toContain('no class in it is a layer')
    expect((await port('nowhere.py', '--force')).err).toContain('there is no such file')
    expect((await port('data', '--force')).err).toContain('it has no net.py')
  },
  LIMIT,
)
