/** @file Fluid programs beside PaddlePaddle's own numbers, recorded by test/fixtures/fluid/record.py. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  Executor,
  initializer,
  layers,
  optimizer,
  ParamAttr,
  Program,
  programGuard,
} from '../../src/paddle/fluid/index.ts'

type Pool = Parameters<typeof layers.sequencePool>[0]['poolType']

interface Recorded {
  readonly batches: readonly Record<'x' | 'a' | 'b' | 'label', number[][]>[]
  readonly cases: readonly {
    readonly pool: Pool
    readonly optimizer: keyof typeof OPTIMIZERS
    /** By step: loss, accuracy, auc, auc of the last two batches, predictions. */
    readonly steps: readonly (readonly number[])[][]
  }[]
}

const OPTIMIZERS = {
  sgd: () => new optimizer.SGD({ learningRate: 0.1 }),
  adagrad: () => new optimizer.Adagrad({ learningRate: 0.1 }),
  adam: () => new optimizer.Adam({ learningRate: 0.01 }),
} as const

const file = new URL('../fixtures/fluid/paddle.json', import.meta.url)
const { batches, cases } = JSON.parse(readFileSync(file, 'utf8')) as Recorded

const constant = (value: number, name?: string) =>
  ParamAttr({ initializer: initializer.Constant({ value }), ...(name !== undefined && { name }) })

function network(poolType: Pool, rule: keyof typeof OPTIMIZERS) {
  const x = layers.data({ name: 'x', shape: [2] })
  const ids = ['a', 'b'].map((name) => layers.data({ name, shape: [1], dtype: 'int64', lodLevel: 1 }))
  const label = layers.data({ name: 'label', shape: [1], dtype: 'int64' })
  const pooled = ids.map((input) => {
    const rows = layers.embedding({ input, size: [10, 3], isSparse: true, paramAttr: constant(0.5, 'table') })
    return layers.sequencePool({ input: rows, poolType })
  })
  const joined = layers.concat({ input: [...pooled, x], axis: 1 })
  const hidden = layers.fc({ input: joined, size: 4, act: 'relu', paramAttr: constant(0.1), biasAttr: constant(0.05) })
  const logits = [0.3, -0.2].map((value) =>
    layers.fc({ input: hidden, size: 1, paramAttr: constant(value), biasAttr: constant(0) }),
  )
  const predict = layers.softmax(layers.concat({ input: logits, axis: 1 }))
  const loss = layers.reduceSum({ input: layers.crossEntropy({ input: predict, label }) })
  const [auc, batchAuc] = layers.auc({ input: predict, label, slideSteps: 2 })
  const fetchList = [loss, layers.accuracy({ input: predict, label }), auc, batchAuc, predict]
  OPTIMIZERS[rule]().minimize(loss)
  return fetchList
}

test.each(cases)('$pool pooling and $optimizer agree with PaddlePaddle', async ({ pool, optimizer: rule, steps }) => {
  const [program, startup] = [new Program(), new Program()]
  const fetchList = programGuard(program, startup, () => network(pool, rule))
  const exe = new Executor(undefined, { emit: () => undefined })
  await exe.run(startup)
  for (const [i, expected] of steps.entries()) {
    const got = await exe.run({ program, feed: batches[i % batches.length]!, fetchList })
    for (const [f, values] of expected.entries()) {
      const own = Array.from(got[f] as Float32Array, Number)
      expect(own, `step ${i}, fetch ${f}`).toHaveLength(values.length)
      for (const [k, value] of values.entries()) expect(own[k], `step ${i}, fetch ${f}`).toBeCloseTo(value, 4)
    }
  }
  await exe.close()
})
