import { describe, expect, test } from 'vitest'
import { backward, inference } from '../autodiff/index.ts'
import { ortEngine, referenceEngine, type TensorData, type TensorView } from '../engine/index.ts'
import {
  Builder,
  constant,
  mean,
  type Program,
  RANDOM_SEED,
  randomBits,
  reshape,
  softmaxCrossEntropy,
} from '../program/index.ts'
import { batchNorm, dropout, gru, linear, mlp, sampledSoftmax, sequenceEmbedding } from './index.ts'

const numbers = (data: TensorData): number[] => Array.from(data as ArrayLike<number | bigint>, Number)
const floats = (dims: readonly number[], values: ArrayLike<number>): TensorView => ({
  dims,
  data: Float32Array.from(values),
})
const seed = (value: number): TensorView => ({ dims: [1], data: Int32Array.of(value) })
const ones = (rows: number, columns: number) => floats([rows, columns], new Array(rows * columns).fill(1))

async function run(program: Program, inputs: Record<string, TensorView>, engine = ortEngine()) {
  const session = await engine.compile(program)
  const result = await session.run(inputs)
  await session.close()
  return result
}

test('layers name their parameters by path', () => {
  const b = new Builder()
  const x = b.feed('x', ['B', 3], 'float32')
  b.scope('tower', () => mlp(x, { name: 'deep', sizes: [4, 1] }))
  linear(x, { name: 'wide', out: 1, biasInit: false })
  expect(b.build({}).parameters.map(({ name, shape }) => `${name} ${shape}`)).toEqual([
    'tower.deep.0.weight 3,4',
    'tower.deep.0.bias 4',
    'tower.deep.1.weight 4,1',
    'tower.deep.1.bias 1',
    'wide.weight 3,1',
  ])
})

describe('dropout', () => {
  const traced = () => {
    const b = new Builder()
    return b.build({ y: dropout(b.feed('x', ['B', 64], 'float32'), { name: 'drop', rate: 0.3 }) })
  }

  test('drops the stated share, scales the rest, and draws anew for another seed', async () => {
    const draw = async (value: number) =>
      numbers((await run(traced(), { x: ones(500, 64), [RANDOM_SEED]: seed(value) }))['y']!.data)
    const first = await draw(1)
    expect(first.filter((value) => value === 0).length / first.length).toBeCloseTo(0.3, 2)
    expect(new Set(first)).toEqual(new Set([0, Math.fround(1 / 0.7)]))
    expect(await draw(1)).toEqual(first)
    const second = await draw(2)
    const both = first.filter((value, i) => value === 0 && second[i] === 0).length
    expect(both / first.length).toBeCloseTo(0.09, 2)
  })

  test('does nothing at inference, where no seed is asked for', async () => {
    const program = inference(traced(), ['y'])
    expect(program.feeds.map(({ name }) => name)).toEqual(['x'])
    expect(new Set(numbers((await run(program, { x: ones(2, 64) }))['y']!.data))).toEqual(new Set([1]))
  })
})

describe('random bits', () => {
  const [rows, columns] = [400, 200]
  const draw = async (engine = ortEngine()) => {
    const b = new Builder()
    const x = b.feed('x', ['B', columns], 'float32')
    const program = b.build({ bits: randomBits(b, x.shape, 'a') })
    return Array.from(
      (await run(program, { x: ones(rows, columns), [RANDOM_SEED]: seed(-123456) }, engine))['bits']!.data,
      Number,
    )
  }

  test('are the same on every engine', async () => {
    expect(await draw()).toEqual(await draw(referenceEngine()))
  })

  test('are uniform, and neighbours in either direction do not know of each other', async () => {
    const u = (await draw()).map((bits) => bits / 2 ** 32 + 0.5)
    const correlation = (lag: number) => {
      const pairs = u.slice(lag).map((value, i) => (value - 0.5) * (u[i]! - 0.5) * 12)
      return pairs.reduce((a, b) => a + b, 0) / pairs.length
    }
    const limit = 4 / Math.sqrt(u.length) // four standard deviations
    for (const lag of [1, 2, 3, columns, columns + 1, 2 * columns])
      expect(Math.abs(correlation(lag))).toBeLessThan(limit)
    const bins = new Array<number>(64).fill(0)
    for (const value of u) bins[Math.min(63, Math.floor(value * 64))]!++
    const chiSquare = bins.reduce((sum, n) => sum + (n - u.length / 64) ** 2 / (u.length / 64), 0)
    expect(chiSquare).toBeLessThan(63 + 4 * Math.sqrt(2 * 63))
  })
})

test('batch norm keeps running statistics as state, and uses them at inference', async () => {
  const b = new Builder()
  const x = b.feed('x', ['B', 1], 'float32')
  const program = b.build({ y: batchNorm(x, { name: 'norm', momentum: 0.75, epsilon: 0 }) })
  const inputs = {
    x: floats([2, 1], [1, 5]),
    'norm.weight': floats([1], [1]),
    'norm.bias': floats([1], [0]),
    'norm.running_mean': floats([1], [1]),
    'norm.running_variance': floats([1], [4]),
  }
  const trained = await run(program, inputs)
  expect(numbers(trained['y']!.data)).toEqual([-1, 1])
  expect(trained['state:norm.running_mean']!.data[0]).toBe(0.75 * 1 + 0.25 * 3)
  expect(trained['state:norm.running_variance']!.data[0]).toBe(0.75 * 4 + 0.25 * 4)
  const inferred = await run(inference(program, ['y']), inputs)
  expect(numbers(inferred['y']!.data)).toEqual([0, 2])
})

test('a gradient step with batch norm still returns its state', () => {
  const b = new Builder()
  const y = batchNorm(b.feed('x', ['B', 2], 'float32'), { name: 'norm' })
  const names = backward(b.build({ loss: mean(y) }), 'loss').fetches.map(({ name }) => name)
  expect(names).toContain('state:norm.running_mean')
  expect(names).toContain('grad:norm.weight')
})

test('sampled softmax with many samples comes near the full softmax', async () => {
  const b = new Builder()
  const [x, label] = [b.feed('x', ['B', 4], 'float32'), b.feed('label', ['B', 1], 'int64')]
  const sampled = mean(sampledSoftmax(x, label, { name: 'out', classes: 20, samples: 20_000 }))
  const weight = b.parameter({ name: 'w', shape: [20, 4], init: { kind: 'zeros' } })
  const logits = b.emit({ kind: 'gemm', transposeA: false, transposeB: true }, [x, weight])
  const full = mean(softmaxCrossEntropy(logits, label))
  const values = Array.from({ length: 80 }, (_, i) => Math.sin(i * 1.7))
  const result = await run(b.build({ sampled, full }), {
    x: floats(
      [3, 4],
      Array.from({ length: 12 }, (_, i) => Math.cos(i)),
    ),
    label: { dims: [3, 1], data: BigInt64Array.of(0n, 7n, 19n) },
    'out.weight': floats([20, 4], values),
    'out.bias': floats([20], new Array(20).fill(0)),
    w: floats([20, 4], values),
    [RANDOM_SEED]: seed(3),
  })
  // Draws of the true class are left out, so its share of the sum is counted once, as it should be.
  expect(Math.abs(Number(result['sampled']!.data[0]) - Number(result['full']!.data[0]))).toBeLessThan(0.05)
})

test('a recurrent layer over a sequence of unknown length says how to give it one', () => {
  const builder = new Builder()
  const { x, mask } = sequenceEmbedding({ kind: 'sparse', name: 'history', builder }, { name: 'history', dim: 4 })
  expect(() => gru(x, { name: 'gru', units: 2, mask })).toThrow('must know T')
  expect(() => linear(reshape(constant(builder, 1), []), { name: 'fc', out: 1 })).toThrow('has no shape')
})
