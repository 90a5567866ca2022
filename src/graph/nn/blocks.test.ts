import { describe, expect, test } from 'vitest'
import { backward } from '../autodiff/index.ts'
import { ortEngine, type TensorView } from '../engine/index.ts'
import { Builder, concat, mean, type Program, printProgram, RANDOM_SEED, type Tensor } from '../program/index.ts'
import * as nn from './index.ts'

const floats = (dims: readonly number[], values: ArrayLike<number>): TensorView => ({
  dims,
  data: Float32Array.from(values),
})
const waves = (dims: readonly number[], speed: number): TensorView =>
  floats(
    dims,
    Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(speed * (i + 1))),
  )

/** Runs with these inputs, weights being waves. */
async function run(program: Program, inputs: Record<string, TensorView>): Promise<Record<string, number[]>> {
  const session = await ortEngine().compile(program)
  const weights = Object.fromEntries(program.parameters.map(({ name, shape }) => [name, waves(shape, 1.3)]))
  const result = await session.run({ ...weights, ...inputs })
  await session.close()
  return Object.fromEntries(
    Object.entries(result).map(([name, { data }]) => [name, Array.from(data as ArrayLike<number>, Number)]),
  )
}

describe('recurrent layers', () => {
  class Model extends nn.Layer {
    readonly gru = this.addSublayer('gru', new nn.Gru({ in: 2, units: 3 }))
    readonly lstm = this.addSublayer('lstm', new nn.Lstm({ in: 3, units: 2 }))
  }
  const inputs = (b: Builder) => [b.feed('x', ['B', 4, 2], 'float32'), b.feed('mask', ['B', 4], 'float32')] as const

  test('are the programs that the functions of the same name make', () => {
    const [a, b] = [new Builder(), new Builder()]
    const [x, mask] = inputs(a)
    const called = nn.lstm(nn.gru(x, { name: 'gru', units: 3, mask }).outputs, { name: 'lstm', units: 2, mask })
    const [y, other] = inputs(b)
    const model = new Model()
    const layered = model.lstm.forward(model.gru.forward(y, other).outputs, other)
    const text = (builder: Builder, result: Tensor) =>
      printProgram(backward(builder.build({ loss: mean(result) }), 'loss'))
    expect(text(b, layered.last)).toBe(text(a, called.last))
  })

  test('give all four weights a rate of their own', () => {
    const layer = new nn.Gru({ in: 2, units: 3, learningRate: 2 })
    const builder = new Builder()
    layer.forward(builder.feed('x', ['B', 4, 2], 'float32'))
    expect(builder.build({}).parameters.map(({ learningRate }) => learningRate)).toEqual([2, 2, 2, 2])
  })
})

describe('the attention unit', () => {
  const traced = () => {
    const b = new Builder()
    const [query, keys] = [b.feed('query', ['B', 2], 'float32'), b.feed('keys', ['B', 'T', 2], 'float32')]
    const unit = new nn.AttentionUnit({ width: 2, sizes: [3] })
    return b.build({ y: unit.forward(query, keys, b.feed('mask', ['B', 'T'], 'float32')) })
  }
  const query = waves([2, 2], 0.7)

  test('does not see what is masked, and gives zeros where all is', async () => {
    const mask = floats([2, 3], [1, 1, 0, 0, 0, 0])
    const of = async (padding: number) => {
      const keys = floats([2, 3, 2], [0.1, 0.2, -0.3, 0.4, padding, padding, ...new Array(6).fill(padding)])
      return (await run(traced(), { query, keys, mask }))['y']!
    }
    const plain = await of(0)
    expect(await of(100)).toEqual(plain)
    expect(plain.slice(2)).toEqual([0, 0])
    expect(Math.abs(plain[0]!)).toBeGreaterThan(0)
  })

  test('gives the element itself where there is only one', async () => {
    const keys = floats([2, 1, 2], [0.1, 0.2, -0.3, 0.4])
    const { y } = await run(traced(), { query, keys, mask: floats([2, 1], [1, 1]) })
    for (const [i, value] of [0.1, 0.2, -0.3, 0.4].entries()) expect(y![i]).toBeCloseTo(value, 6)
  })
})

describe('draws from the batch', () => {
  const traced = () => {
    const b = new Builder()
    const x = b.feed('x', ['B', 2], 'float32')
    const positions = nn.drawFromBatch(x, { name: 'negatives', samples: 5 })
    return b.build({ positions, rows: nn.takeFromBatch(x, positions) })
  }
  const draw = (rows: number, seed: number) =>
    run(traced(), {
      x: floats(
        [rows, 2],
        Array.from({ length: 2 * rows }, (_, i) => i),
      ),
      [RANDOM_SEED]: { dims: [1], data: Int32Array.of(seed) },
    })

  test('reach every position and no other, anew at every step', async () => {
    const { positions, rows } = await draw(64, 3)
    expect(new Set(positions)).toEqual(new Set(Array.from({ length: 64 }, (_, i) => i)))
    expect(rows).toEqual(positions!.flatMap((at) => [2 * at, 2 * at + 1]))
    expect((await draw(64, 3))['positions']).toEqual(positions)
    expect((await draw(64, 4))['positions']).not.toEqual(positions)
  })

  test('of a batch of one draw that one', async () => {
    expect((await draw(1, 3))['positions']).toEqual([0, 0, 0, 0, 0])
  })
})

test('drawn classes score as they do among all, the true one in column 0', async () => {
  const b = new Builder()
  const [x, label] = [b.feed('x', ['B', 3], 'float32'), b.feed('label', ['B', 1], 'int64')]
  const scores = new nn.ClassScores({ in: 3, classes: 50 })
  const [all, few] = [scores.all(x, label), scores.sampled(x, label, { samples: 8, sampler: 'uniform' })]
  const program = b.build({ all: all.logits, few: few.logits, first: few.label, above: nn.classesAbove(all) })
  const result = await run(program, {
    x: waves([2, 3], 0.9),
    label: { dims: [2, 1], data: BigInt64Array.of(7n, 41n) },
    [RANDOM_SEED]: { dims: [1], data: Int32Array.of(5) },
  })
  expect(result['first']).toEqual([0, 0])
  const rows = [result['all']!.slice(0, 50), result['all']!.slice(50)]
  expect(result['above']).toEqual([7, 41].map((own, i) => rows[i]!.filter((score) => score > rows[i]![own]!).length))
  expect(result['few']).toHaveLength(2 * 9)
  expect(result['few']![0]).toBeCloseTo(result['all']![7]!, 5)
  expect(result['few']![9]).toBeCloseTo(result['all']![50 + 41]!, 5)
})

test('sequences of one name stand side by side, others do not fit', () => {
  const builder = new Builder()
  const sequence = (name: string, length?: string) =>
    nn.sequenceEmbedding({ kind: 'sparse', name, builder }, { name, dim: 2, length }).x
  expect(concat([sequence('items', 'T_history'), sequence('kinds', 'T_history')], 2).shape).toEqual([
    'B',
    'T_history',
    4,
  ])
  expect(() => concat([sequence('a'), sequence('b')], 2)).toThrow('T_a')
})
