/** @file Rows that geo workers train apart: their optimizer's state is that of all gradients, on the servers and in every copy. */
import { describe, expect, test } from 'vitest'
import { mean } from '../../src/graph/program/index.ts'
import { type OptimizerSpec, optimizer } from '../../src/index.ts'
import { type Feeds, traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import {
  type Call,
  createCopy,
  GeoExchange,
  geoServerRules,
  KernelStore,
  ParameterServer,
} from '../../src/training/ps/index.ts'
import { denseLayout, LocalParams } from '../../src/weights/params/index.ts'

const DIM = 3
const SIGN = 42n
const DISTINCT = { signs: BigUint64Array.of(SIGN), lengths: Uint32Array.of(1) }

const OPTIMIZERS: Readonly<Record<string, OptimizerSpec>> = {
  sgd: optimizer.sgd({ learningRate: 0.1 }),
  momentum: optimizer.momentum({ learningRate: 0.1, momentum: 0.7 }),
  adagrad: optimizer.adagrad({ learningRate: 0.1, initialAccumulator: 0.3 }),
  rmsprop: optimizer.rmsprop({ learningRate: 0.1, momentum: 0.5, centered: true }),
  'lazy Adam': optimizer.adam({ learningRate: 0.1, lazy: true }),
  ftrl: optimizer.ftrl({ learningRate: 0.1, initialAccumulator: 0.3 }),
}

function openJob(spec: OptimizerSpec, isHalved = false) {
  const model = {
    createFeeds: ({ sparse }: Feeds) => ({ ids: sparse('ids') }),
    net: ({ ids }: { ids: nn.SparseSlot }) => ({ loss: mean(nn.embedding([ids], { name: 'row', dim: DIM })) }),
    createOptimizer: () => spec,
  }
  const { train } = traceModel(model as never)
  const slice = { from: 0, to: denseLayout(train, spec).floats }
  const rules = geoServerRules({ program: train, optimizer: spec }, 'whole')
  const store = new KernelStore({ program: train, ...rules, seed: 1, segments: 1, slice })
  const server = new ParameterServer({ store, mode: 'geo', workers: 2, threads: 1 })
  const bytes = (parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts))
  const open = () => createCopy({ program: train, optimizer: spec, seed: 1, segments: 1, threads: 3 }, 'whole')
  const worker = (rank: number) => {
    const handle = open()
    const call: Call = async (_, method, parts, __, read) =>
      read(bytes(await server.handle(rank, method, bytes(parts))))
    const exchange = new GeoExchange({
      ...{ call, segments: 1, local: handle, thread: 1, workers: 2, slices: [slice] },
      ...{ placement: { servers: 1, shards: 1 }, isHalved: () => isHalved },
    })
    return trained(new LocalParams(handle, 0), exchange)
  }
  return { store, worker, alone: trained(new LocalParams(open(), 0)) }
}

/** A copy of the row, which a test trains. */
function trained(local: LocalParams, exchange?: GeoExchange) {
  let batches = 0
  const touched = () => [[{ tables: [0], signs: Array.from({ length: batches }, () => DISTINCT.signs) }]]
  return {
    local,
    exchange: exchange!,
    train(...gradients: number[]) {
      for (const gradient of gradients) {
        const rows = { table: 0, distinct: DISTINCT, rows: new Float32Array(DIM) }
        local.pull({ tables: [rows], weights: new Float32Array(0) } as never, true)
        const each = Float32Array.from({ length: DIM }, (_, d) => gradient * (1 + d))
        local.push({ tables: [{ ...rows, gradients: each }], gradients: new Float32Array(0) } as never)
        batches++
      }
    },
    async bring(rows: 'all' | 'often' = 'all') {
      await exchange!.run(touched(), rows)
      batches = 0
    },
    get row() {
      // Behind weight and state: what the servers hold.
      const { dim, rule } = local.handle.tables[0]!.layout
      return floatsOf(local.tables[0]!.row(DISTINCT)!).slice(0, dim * (1 + rule.states))
    },
  }
}

const floatsOf = (bytes: Uint8Array) => [...new Float32Array(bytes.slice().buffer)]

function expectClose(found: readonly number[], expected: readonly number[], relative = 1e-5) {
  expect(found).toHaveLength(expected.length)
  for (const [i, value] of expected.entries())
    expect(Math.abs(found[i]! - value)).toBeLessThan(relative * Math.max(1e-3, Math.abs(value)))
}

describe.each(Object.entries(OPTIMIZERS))('%s', (name, spec) => {
  test('two workers that take turns train a row as one process does, its state included', async () => {
    const { store, worker, alone } = openJob(spec)
    const [first, second] = [worker(0), worker(1)]
    for (const [turn, gradient] of [1, -0.5, 0.25, 2, -1, 0.125].entries()) {
      const [own, other] = turn % 2 ? [second, first] : [first, second]
      own.train(gradient)
      await own.bring()
      await other.bring()
      alone.train(gradient)
    }
    for (const row of [first.row, second.row, floatsOf(store.row(0, SIGN)!)]) expectClose(row, alone.row)
  })

  test('what both did meanwhile is in the state as if one came after the other', async () => {
    const { store, worker, alone } = openJob(spec)
    const [first, second] = [worker(0), worker(1)]
    first.train(1)
    await first.bring()
    await second.bring()
    first.train(0.5, 0.25)
    second.train(-1, 2, 0.5)
    await first.bring()
    await second.bring()
    await first.bring()
    alone.train(1, 0.5, 0.25, -1, 2, 0.5)
    const served = floatsOf(store.row(0, SIGN)!)
    expectClose(first.row, served)
    expectClose(second.row, served)
    // What FTRL and RMSProp keep depends on weights and rates that both did not have in common.
    if (name !== 'ftrl' && name !== 'rmsprop') expectClose(served.slice(DIM), alone.row.slice(DIM))
  })

  test('a worker that comes later begins with the state that the servers have', async () => {
    const { store, worker } = openJob(spec)
    const first = worker(0)
    first.train(1, 2, 3)
    await first.bring()
    const second = worker(1)
    await second.exchange.begin(async function* () {
      yield* store.scan(0)
    })
    expectClose(second.row, first.row)
  })
})

test('what others bring in comes beneath updates that were not yet sent', async () => {
  const { worker, alone } = openJob(OPTIMIZERS['lazy Adam']!)
  const [first, second] = [worker(0), worker(1)]
  second.train(1)
  // Trained once: not often enough to be sent.
  await second.bring('often')
  first.train(2)
  await first.bring()
  await second.bring('often')
  alone.train(2, 1)
  expectClose(second.row.slice(DIM), alone.row.slice(DIM))
  await second.bring()
  await first.bring()
  expectClose(first.row.slice(DIM), alone.row.slice(DIM))
})

test('where weights travel as float16, state keeps all its bits', async () => {
  const { store, worker, alone } = openJob(OPTIMIZERS['lazy Adam']!, true)
  const [first, second] = [worker(0), worker(1)]
  // The square of such a gradient is nothing in float16.
  for (const one of [first, second]) {
    one.train(1e-4)
    await one.bring()
    alone.train(1e-4)
  }
  const state = floatsOf(store.row(0, SIGN)!).slice(DIM)
  for (const [i, value] of alone.row.slice(DIM).entries()) expect(state[i]! / value).toBeCloseTo(1, 4)
})

test('Adam that is not lazy keeps its state in each copy, and the servers have weights alone', async () => {
  const { store, worker } = openJob(optimizer.adam({ learningRate: 0.1 }))
  const first = worker(0)
  first.train(1, 2)
  await first.bring()
  expectClose(floatsOf(store.row(0, SIGN)!), first.row.slice(0, DIM))
})
