/** @file Layers against values worked out by hand, and what they refuse. */
import { describe, expect, test } from 'vitest'
import {
  CountFilterEntry,
  Executor,
  initializer,
  layers,
  optimizer,
  ParamAttr,
  Program,
  programGuard,
  TestProgram,
} from './index.ts'

const silent = { emit: () => undefined }

/** Builds in programs of its own and runs them once. */
async function values(build: () => { feed?: object; fetch: layers.DataOptions[] | unknown[] }): Promise<number[][]> {
  const [main, startup] = [new Program(), new Program()]
  const { feed = {}, fetch } = programGuard(main, startup, build)
  const exe = new Executor(undefined, silent)
  await exe.run(startup)
  const got = await exe.run({ program: main, feed: feed as never, fetchList: fetch as never })
  await exe.close()
  return got.map((array) => Array.from(array as Float32Array, (value) => Number(Number(value).toFixed(5))))
}

const constant = (value: number) => ParamAttr({ initializer: initializer.Constant({ value }) })

describe('layers', () => {
  test('fc adds up products of its inputs and a bias', async () => {
    const got = await values(() => {
      const [x, z] = [layers.data({ name: 'x', shape: [2] }), layers.data({ name: 'z', shape: [1] })]
      const y = layers.fc({ input: [x, z], size: 1, paramAttr: constant(2), biasAttr: constant(1) })
      return {
        feed: {
          x: [
            [1, 2],
            [3, 4],
          ],
          z: [[10], [20]],
        },
        fetch: [y],
      }
    })
    expect(got).toEqual([[27, 55]])
  })

  test('the rows of a sequence are pooled as asked', async () => {
    const got = await values(() => {
      const ids = layers.data({ name: 'ids', shape: [1], lodLevel: 1, dtype: 'int64' })
      const emb = layers.embedding({ input: ids, size: [10, 2], isSparse: true, paramAttr: constant(3) })
      const pooled = (['sum', 'average', 'sqrt', 'max', 'first', 'last'] as const).map((poolType) =>
        layers.sequencePool({ input: emb, poolType }),
      )
      return { feed: { ids: [[1, 2, 3, 4], [5]] }, fetch: pooled }
    })
    expect(got).toEqual([[12, 12, 3, 3], [3, 3, 3, 3], [6, 6, 3, 3], ...new Array(3).fill([3, 3, 3, 3])])
  })

  test('embeddings side by side are one lookup, and each is still what it was', async () => {
    const got = await values(() => {
      const slots = ['a', 'b', 'c'].map((name) => layers.data({ name, shape: [1], lodLevel: 1, dtype: 'int64' }))
      const paramAttr = ParamAttr({ name: 'table', initializer: initializer.Uniform() })
      const pooled = slots.map((input) =>
        layers.sequencePool({
          input: layers.embedding({ input, size: [10, 2], isSparse: true, paramAttr }),
          poolType: 'sum',
        }),
      )
      const all = layers.concat({ input: pooled, axis: 1 })
      expect(all.program.builder.build({}).rows).toHaveLength(1)
      return { feed: { a: [[1]], b: [[2]], c: [[1]] }, fetch: [all, ...pooled] }
    })
    const [all, a, b, c] = got
    expect(all).toEqual([...a!, ...b!, ...c!])
    expect(c).toEqual(a)
    expect(b).not.toEqual(a)
  })

  test('losses and metrics', async () => {
    const got = await values(() => {
      const p = layers.data({ name: 'p', shape: [2] })
      const label = layers.data({ name: 'label', shape: [1], dtype: 'int64' })
      const cost = layers.crossEntropy({ input: p, label })
      const y = layers.cast({ x: label, dtype: 'float32' })
      const square = layers.squareErrorCost({ input: layers.reduceSum({ input: p, dim: 1, keepDim: true }), label: y })
      const [auc] = layers.auc({ input: p, label })
      const fetch = [
        cost,
        layers.mean(cost),
        layers.reduceSum({ input: cost }),
        square,
        layers.accuracy({ input: p, label }),
        auc,
      ]
      return {
        feed: {
          p: [
            [0.25, 0.75],
            [0.4, 0.6],
            [0.9, 0.1],
          ],
          label: [1, 1, 0],
        },
        fetch,
      }
    })
    const logs = [0.75, 0.6, 0.9].map((p) => Number((-Math.log(p)).toFixed(5)))
    expect(got[0]).toEqual(logs)
    expect(got[1]![0]).toBeCloseTo((logs[0]! + logs[1]! + logs[2]!) / 3, 4)
    expect(got[2]![0]).toBeCloseTo(logs[0]! + logs[1]! + logs[2]!, 4)
    expect(got.slice(3)).toEqual([[0, 0, 1], [1], [1]])
  })

  test('cross entropy of a softmax is exact where the probability is 0', async () => {
    const [cost] = await values(() => {
      const x = layers.data({ name: 'x', shape: [2] })
      const label = layers.data({ name: 'label', shape: [1], dtype: 'int64' })
      return { feed: { x: [[200, 0]], label: [1] }, fetch: [layers.crossEntropy({ input: layers.softmax(x), label })] }
    })
    expect(cost).toEqual([200])
  })

  test.each([
    [
      'a table and numbers of one data',
      'FLUID_DATA',
      () => {
        const x = layers.data({ name: 'x', shape: [1], dtype: 'int64' })
        layers.fc({ input: layers.embedding({ input: x, size: [3, 2], isSparse: true }), size: 1 })
        layers.cast({ x, dtype: 'float32' })
      },
    ],
    ['a name twice', 'FLUID_DATA', () => [1, 2].map(() => layers.data({ name: 'x', shape: [1] }))],
    ['a shape that is open inside', 'FLUID_DATA', () => layers.data({ name: 'x', shape: [2, -1] })],
    ['float sequences', 'FLUID_DATA', () => layers.data({ name: 'x', shape: [1], lodLevel: 1 })],
    [
      'a sequence that is not pooled',
      'FLUID_INPUT',
      () => {
        const input = layers.data({ name: 'x', shape: [1], lodLevel: 1, dtype: 'int64' })
        layers.fc({ input: layers.embedding({ input, size: [3, 2] }), size: 1 })
      },
    ],
    [
      'a loss of several numbers',
      'FLUID_OPTIMIZER',
      () => {
        new optimizer.SGD({ learningRate: 1 }).minimize(
          layers.fc({ input: layers.data({ name: 'x', shape: [1] }), size: 2 }),
        )
      },
    ],
  ] as const)('%s are refused', (_, code, build) => {
    expect(() => programGuard(new Program(), new Program(), build)).toThrow(expect.objectContaining({ code }))
  })
})

test('a sparse embedding admits ids by its entry policy', async () => {
  const [main, startup] = [new Program(), new Program()]
  const { sum, loss } = programGuard(main, startup, () => {
    const ids = layers.data({ name: 'ids', shape: [1], lodLevel: 1, dtype: 'int64' })
    const entry = CountFilterEntry(3)
    const paramAttr = ParamAttr({ name: 'table', initializer: initializer.Uniform({ low: 1, high: 2 }) })
    const rows = layers.sparseEmbedding({ input: ids, size: [0, 4], entry, tableClass: 'MemorySparseTable', paramAttr })
    const sum = layers.sequencePool({ input: rows, poolType: 'sum' })
    const loss = layers.mean(sum)
    new optimizer.SGD({ learningRate: 0.1 }).minimize(loss)
    return { sum, loss }
  })
  const exe = new Executor(undefined, silent)
  await exe.run(startup)
  const seen: boolean[] = []
  for (let i = 0; i < 5; i++) {
    const [row] = await exe.run({ program: main, feed: { ids: [[7]] }, fetchList: [sum, loss] })
    seen.push(Array.from(row as Float32Array).some((value) => value !== 0))
  }
  // The push of the third batch makes the row; the fourth sees it.
  expect(seen).toEqual([false, false, false, true, true])
  await exe.close()
  expect(() => CountFilterEntry(-1)).toThrow('count_filter must be a valid integer greater or equal than 0')
  expect(() =>
    programGuard(new Program(), new Program(), () => {
      const input = layers.data({ name: 'ids', shape: [1], lodLevel: 1, dtype: 'int64' })
      layers.sparseEmbedding({ input, size: [0, 4], tableClass: 'GraphTable' as never })
    }),
  ).toThrow('tableClass is one of CommonSparseTable, SSDSparseTable, MemorySparseTable')
})

describe('a program', () => {
  const line = () => {
    const x = layers.data({ name: 'x', shape: [1] })
    const y = layers.data({ name: 'y', shape: [1] })
    const price = layers.fc({ input: x, size: 1, paramAttr: constant(0), biasAttr: constant(0) })
    const loss = layers.mean(layers.squareErrorCost({ input: price, label: y }))
    return { price, loss }
  }

  test('trains by its optimizer; testing it changes nothing', async () => {
    const [main, startup] = [new Program(), new Program()]
    const { loss, price } = programGuard(main, startup, () => {
      const built = line()
      new optimizer.SGD({ learningRate: 0.1 }).minimize(built.loss)
      return built
    })
    const exe = new Executor(undefined, silent)
    await exe.run(startup)
    const feed = { x: [[1], [2]], y: [[3], [5]] }
    const test = new TestProgram(main)
    const [before] = await exe.run({ program: test, feed, fetchList: [loss] })
    const [again] = await exe.run({ program: test, feed, fetchList: [loss] })
    const [trained] = await exe.run({ program: main, feed, fetchList: [loss] })
    expect([before![0], again![0], trained![0]]).toEqual([17, 17, 17])
    // d/dw = -2 * mean(x * y) = -13, d/db = -2 * mean(y) = -8
    const [after] = await exe.run({ program: test, feed: { x: [[1]] }, fetchList: [price] })
    expect(after![0]).toBeCloseTo(0.1 * 13 + 0.1 * 8, 5)
    for (let i = 0; i < 200; i++) await exe.run({ program: main, feed })
    const [last] = await exe.run({ program: test, feed, fetchList: [loss] })
    expect(Number(last![0])).toBeLessThan(0.01)
    await exe.close()
    await exe.close()
    await expect(exe.run(main)).rejects.toMatchObject({ code: 'FLUID_CLOSED' })
  })

  test('names what was forgotten', async () => {
    const [main, startup] = [new Program(), new Program()]
    programGuard(main, startup, line)
    const exe = new Executor(undefined, silent)
    const feed = { x: [[1]] }
    await expect(exe.run({ program: main, feed })).rejects.toMatchObject({ code: 'FLUID_STARTUP' })
    await exe.run(startup)
    await expect(exe.run({ program: main, feed, fetchList: [main.variable('mean_0')!] })).rejects.toThrow(
      'needs data "y"',
    )
    await expect(async () =>
      exe.trainFromDataset({ program: main, dataset: undefined as never }),
    ).rejects.toMatchObject({
      code: 'FLUID_OPTIMIZER',
    })
    await exe.close()
  })
})
