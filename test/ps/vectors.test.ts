/** @file The written examples of sync, async and geo, on one weight and one row, through the real protocol. */
import { describe, expect, test } from 'vitest'
import { mean, type Program } from '../../src/graph/program/index.ts'
import { type OptimizerSpec, optimizer } from '../../src/index.ts'
import { type Feeds, traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import {
  type Call,
  createCopy,
  GeoExchange,
  GeoParams,
  geoServerRules,
  KernelStore,
  METHODS,
  ParameterServer,
  type PsMode,
  RemoteParams,
  type RowBlock,
} from '../../src/training/ps/index.ts'
import { denseLayout, LocalParams } from '../../src/weights/params/index.ts'

const ONE = { kind: 'constant', value: 1 } as const
const SIGN = 42n

/** One dense weight and one table of dim 1, all beginning at 1. */
function onePlusOne(spec: OptimizerSpec): Program {
  const model = {
    createFeeds: ({ sparse }: Feeds) => ({ ids: sparse('ids') }),
    net({ ids }: { ids: nn.SparseSlot }) {
      const row = nn.embedding([ids], { name: 'row', dim: 1, init: ONE })
      return { loss: mean(nn.linear(row, { name: 'w', out: 1, init: ONE })) }
    },
    createOptimizer: () => spec,
  }
  return traceModel(model as never).train
}

interface OneWorker {
  readonly params: RemoteParams
  /** To train, or to evaluate. */
  pull(training?: boolean): Promise<[dense: number, row: number]>
  push(dense: number, row: number): Promise<void>
}

function openJob(mode: PsMode, spec: OptimizerSpec, workers: number, delta: 'whole' | 'share' = 'share') {
  const program = onePlusOne(spec)
  const { floats } = denseLayout(program, spec)
  const slice = { from: 0, to: floats }
  const rules = mode === 'geo' ? geoServerRules({ program, optimizer: spec }, delta) : { optimizer: spec }
  const store = new KernelStore({ program, ...rules, seed: 1, segments: 1, slice })
  const server = new ParameterServer({ store, mode, workers, threads: 1 })
  const whole = (parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts))
  const call =
    (rank: number): Call =>
    async (_, method, parts, __, read) =>
      read(whole(await server.handle(rank, method, whole(parts))))
  return { program, spec, floats, slice, store, server, call }
}

/** A batch with the row and these gradients. */
function shareOf({ floats }: ReturnType<typeof openJob>, dense = 0, row = 0) {
  return {
    samples: 1,
    tables: [
      {
        table: 0,
        distinct: { signs: BigUint64Array.of(SIGN), lengths: Uint32Array.of(1) },
        rows: new Float32Array(1),
        gradients: Float32Array.of(row),
      },
    ],
    weights: new Float32Array(floats),
    gradients: new Float32Array(floats).fill(dense, 0, 1),
  }
}

function openWorker(job: ReturnType<typeof openJob>, rank: number): OneWorker {
  const params = new RemoteParams({ call: job.call(rank), thread: 0, segments: 1, slices: [job.slice] })
  return {
    params,
    async pull(training = true) {
      const one = shareOf(job)
      await params.pull(one, training)
      return [one.weights[0]!, one.tables[0]!.rows[0]!]
    },
    push: async (dense, row) => {
      await params.push(shareOf(job, dense, row))
    },
  }
}

/** The row as the server has it. */
function rowOf({ store }: ReturnType<typeof openJob>): number {
  const distinct = { signs: BigUint64Array.of(SIGN), lengths: Uint32Array.of(1) }
  return store.pull({ groups: [distinct], tableGroups: [0] }, false)[0]![0]!
}

const SGD = optimizer.sgd({ learningRate: 1 })

describe('gradients 1 and 3 of two workers', () => {
  test('in sync are one step with 2, dense and sparse, seen by the next pull of both', async () => {
    const job = openJob('sync', SGD, 2)
    const workers = [openWorker(job, 0), openWorker(job, 1)]
    await workers[1]!.push(3, 3)
    const early = workers[1]!.pull()
    await workers[0]!.push(1, 1)
    expect(await early).toEqual([-1, -1])
    expect(await workers[0]!.pull()).toEqual([-1, -1])
    expect(job.store.steps).toBe(1)
  })

  test.each(['async', 'half_async'] as const)('in %s are two steps, together 4', async (mode) => {
    const job = openJob(mode, SGD, 2)
    const workers = [openWorker(job, 0), openWorker(job, 1)]
    await workers[0]!.push(1, 1)
    await workers[1]!.push(3, 3)
    expect(await workers[0]!.pull()).toEqual([-3, -3])
    expect(job.store.steps).toBe(2)
  })
})

test.each([
  ['async', -1],
  ['half_async', -1],
  ['sync', 0],
] as const)('in %s dense weights are pulled for when the others have pushed: %i', async (mode, ahead) => {
  const job = openJob(mode, optimizer.momentum({ learningRate: 1, momentum: 0.5 }), 3)
  const workers = [0, 1, 2].map((rank) => openWorker(job, rank))
  await workers[0]!.push(1, 1)
  // In sync it is a step when all have pushed: with their mean, 1.
  if (mode === 'sync') for (const rank of [1, 2]) await workers[rank]!.push(1, 1)
  expect(await workers[0]!.pull()).toEqual([ahead, 0])
  // What is evaluated is what there is.
  expect(await workers[0]!.pull(false)).toEqual([0, 0])
})

test('a push that arrives twice counts once', async () => {
  const job = openJob('async', SGD, 1)
  const twice: Call = async (server, method, ...rest) => {
    if (method === METHODS.push) await job.call(0)(server, method, ...rest)
    return job.call(0)(server, method, ...rest)
  }
  const worker = openWorker({ ...job, call: () => twice }, 0)
  await worker.push(1, 1)
  expect(await worker.pull()).toEqual([0, 0])
})

/** By one update, with a rate of 1. */
function setRows({ tables: [table] }: LocalParams, signs: BigUint64Array, value: number): void {
  const distinct = { signs, lengths: Uint32Array.of(signs.length) }
  const rows = new Float32Array(signs.length)
  table!.lookup(distinct, rows, true)
  const gradients = rows.map((row) => row - value)
  table!.update(distinct, gradients, { step: 1, rate: 1, baseRate: 1, aux: 0 })
}

describe('geo of two workers, from 1.0', () => {
  /** A worker's own copy, which a test sets as if it had trained. */
  function openGeo(job: ReturnType<typeof openJob>, rank: number, delta: 'whole' | 'share', spec = job.spec) {
    const { slice } = job
    const handle = createCopy({ program: job.program, optimizer: spec, seed: 1, segments: 1, threads: 3 }, delta)
    const local = new LocalParams(handle, 0)
    const exchange = new GeoExchange({
      ...{ call: job.call(rank), segments: 1, local: handle, thread: 1, workers: 2, delta },
      placement: { servers: 1, shards: 1 },
      slices: [slice],
    })
    const floats = () => new Float32Array(local.dense.bytes().buffer, local.dense.bytes().byteOffset, 1)
    const touched = (signs: BigUint64Array) => [[{ tables: [0], signs: [signs] }]]
    return {
      exchange: (isTouched: boolean) => exchange.run(isTouched ? touched(BigUint64Array.of(SIGN)) : []),
      exchangeOf: (signs: BigUint64Array) => exchange.run(touched(signs)),
      /** With the dense weights, after a batch that trained the row. */
      exchangeOften: () => exchange.run(touched(BigUint64Array.of(SIGN)), 'often'),
      begin: (rows: (table: number) => AsyncIterable<RowBlock>) => exchange.begin(rows),
      local,
      /** By one update. */
      set(value: number) {
        setRows(local, BigUint64Array.of(SIGN), value)
        if (delta === 'share') floats()[0] = value
      },
      get values() {
        const rows = new Float32Array(1)
        local.tables[0]!.lookup({ signs: BigUint64Array.of(SIGN), lengths: Uint32Array.of(1) }, rows, false)
        return delta === 'share' ? [rows[0]!, floats()[0]!] : [rows[0]!]
      },
    }
  }

  test('each brings in half of its change and takes the other one’s', async () => {
    const job = openJob('geo', SGD, 2)
    const [first, second] = [openGeo(job, 0, 'share'), openGeo(job, 1, 'share')]
    const server = () => rowOf(job)
    first.set(1.4)
    await first.exchange(true)
    expect(server()).toBeCloseTo(1.2, 6)
    expect(first.values[0]).toBeCloseTo(1.4, 6)
    second.set(0.8)
    await second.exchange(true)
    expect(server()).toBeCloseTo(1.1, 6)
    expect(second.values[0]).toBeCloseTo(1.0, 6)
    await first.exchange(false)
    expect(first.values[0]).toBeCloseTo(1.3, 6)
  })

  test('with dense weights it is the same', async () => {
    const job = openJob('geo', SGD, 2)
    const [first, second] = [openGeo(job, 0, 'share'), openGeo(job, 1, 'share')]
    first.set(1.4)
    await first.exchange(false)
    expect(first.values[1]).toBeCloseTo(1.4, 6)
    second.set(0.8)
    await second.exchange(false)
    expect(job.store.pullDense()[0]).toBeCloseTo(1.1, 6)
    expect(second.values[1]).toBeCloseTo(1.0, 6)
    await first.exchange(false)
    expect(first.values[1]).toBeCloseTo(1.3, 6)
  })

  test('a row goes before the others once two batches have trained it, and with all of them', async () => {
    const job = openJob('geo', SGD, 2, 'whole')
    const worker = openGeo(job, 0, 'whole')
    worker.set(1.3)
    await worker.exchangeOften()
    expect(rowOf(job)).toBe(1)
    worker.set(1.4)
    await worker.exchangeOften()
    expect(rowOf(job)).toBeCloseTo(1.4, 6)
    worker.set(1.6)
    await worker.exchangeOften()
    expect(rowOf(job)).toBeCloseTo(1.4, 6)
    await worker.exchange(false)
    expect(rowOf(job)).toBeCloseTo(1.6, 6)
  })

  test('where rows are brought in whole, dense gradients go to the one optimizer that the servers have', async () => {
    const spec = optimizer.momentum({ learningRate: 1, momentum: 0.5 })
    const job = openJob('geo', spec, 2, 'whole')
    const workers = [0, 1].map((rank) => {
      const geo = openGeo(job, rank, 'whole')
      const dense = new RemoteParams({
        ...{ call: job.call(rank), thread: 0, segments: 1, slices: [job.slice], ahead: true },
      })
      return { ...geo, params: new GeoParams(geo.local, dense) }
    })
    const [first, second] = workers as [(typeof workers)[0], (typeof workers)[0]]
    for (const { params } of workers) await params.pull(shareOf(job), true)
    // Dense gradients may go on their way before those of rows are known: they count once.
    const batch = shareOf(job, 1, 1)
    first.params.begin!(batch)
    await first.params.push(batch)
    expect([job.store.pullDense()[0], rowOf(job)]).toEqual([0, 1])
    // An exchange brings in rows alone.
    await first.exchange(true)
    expect([job.store.pullDense()[0], rowOf(job)]).toEqual([0, 0])
    await second.params.push(shareOf(job, 3, 3))
    await second.exchange(true)
    // The velocity is 3 + 0.5 * 1.
    expect([job.store.pullDense()[0], rowOf(job)]).toEqual([-3.5, -3])
    expect(job.store.steps).toBe(2)
    // For the next batch the first gets what the other will have done meanwhile: nothing yet since its own push.
    const next = shareOf(job)
    await first.params.pull(next, true)
    await first.params.refresh(next)
    expect([next.weights[0], next.tables[0]!.rows[0]]).toEqual([-0.5, 0])
  })

  test('where rows are brought in whole, both have both changes', async () => {
    const job = openJob('geo', SGD, 2, 'whole')
    const [first, second] = [openGeo(job, 0, 'whole'), openGeo(job, 1, 'whole')]
    first.set(1.4)
    await first.exchange(true)
    expect(rowOf(job)).toBeCloseTo(1.4, 6)
    second.set(0.8)
    await second.exchange(true)
    expect(rowOf(job)).toBeCloseTo(1.2, 6)
    expect(second.values[0]).toBeCloseTo(1.2, 6)
    await first.exchange(false)
    expect(first.values[0]).toBeCloseTo(1.2, 6)
  })

  test('steps of all workers count', async () => {
    const job = openJob('geo', SGD, 2, 'whole')
    const [first, second] = [openGeo(job, 0, 'whole'), openGeo(job, 1, 'whole')]
    const steps = (worker: typeof first, count: number) => {
      for (let i = 0; i < count; i++) worker.local.dense.nextStep()
    }
    steps(first, 5)
    await first.exchange(false)
    steps(second, 3)
    await second.exchange(false)
    expect([second.local.dense.steps, second.local.dense.othersSteps]).toEqual([8, 5])
    steps(first, 2)
    await first.exchange(false)
    await first.exchange(false)
    expect([first.local.dense.steps, first.local.dense.othersSteps]).toEqual([10, 3])
  })

  test('more rows than a message holds go in several', async () => {
    const job = openJob('geo', SGD, 2, 'whole')
    const [first, second] = [openGeo(job, 0, 'whole'), openGeo(job, 1, 'whole')]
    const signs = BigUint64Array.from({ length: 300_000 }, (_, i) => BigInt(i))
    setRows(first.local, signs, 3)
    await first.exchangeOf(signs)
    expect(job.store.rowCounts).toEqual([300_000])
    await second.exchange(false)
    const rows = new Float32Array(signs.length)
    const lengths = Uint32Array.of(signs.length)
    second.local.tables[0]!.lookup({ signs, lengths }, rows, false)
    expect(rows.every((value) => value === 3)).toBe(true)
  })

  test('a worker begins with what the servers have loaded', async () => {
    const job = openJob('geo', SGD, 2)
    job.store.load(0, { signs: BigUint64Array.of(SIGN), rows: new Uint8Array(Float32Array.of(7).buffer) })
    job.store.loadDense({ bytes: new Uint8Array(Float32Array.of(5, 0, 0, 0, 5, 0, 0, 0).buffer), steps: 3 })
    const worker = openGeo(job, 0, 'share')
    await worker.begin(async function* (table) {
      yield* job.store.scan(table)
    })
    expect(worker.values).toEqual([7, 5])
    await worker.exchange(true)
    expect(rowOf(job)).toBe(7)
  })

  test('a row that neither has is at its initial value on both and on the server', async () => {
    const job = openJob('geo', SGD, 2)
    const worker = openGeo(job, 0, 'share')
    await worker.exchange(true)
    expect(worker.values[0]).toBe(1)
    expect(rowOf(job)).toBe(1)
  })
})
