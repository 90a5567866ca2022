/** @file Values that travel as float16: what arrives, what it saves, and what stays exact. */
import { describe, expect, test } from 'vitest'
import { HalfCoder } from '../../src/base/kernel/index.ts'
import { createRng } from '../../src/base/util/index.ts'
import { type Feeds, optimizer } from '../../src/index.ts'
import { traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import { concat, mean, type Tensor } from '../../src/nn.ts'
import {
  ADDING,
  type Call,
  createCopy,
  GeoExchange,
  KernelStore,
  ParameterServer,
  type PsMode,
  RemoteParams,
} from '../../src/training/ps/index.ts'
import { denseLayout, LocalParams } from '../../src/weights/params/index.ts'

const DIM = 9
const SIGNS = BigUint64Array.from({ length: 500 }, (_, i) => BigInt(i) * 4099n)
const DISTINCT = { signs: SIGNS, lengths: Uint32Array.of(SIGNS.length) }
const SGD = optimizer.sgd({ learningRate: 0.1 })

/** A table, a layer, and running statistics. */
const { train: PROGRAM } = traceModel({
  createFeeds: ({ sparse, dense }: Feeds) => ({ ids: sparse('ids'), x: dense('x', 40) }),
  net({ ids, x }: { ids: nn.SparseSlot; x: Tensor }) {
    const rows = nn.embedding([ids], { name: 'rows', dim: DIM })
    return { loss: mean(nn.linear(concat([rows, nn.batchNorm(x, { name: 'norm' })], 1), { name: 'w', out: 16 })) }
  },
  createOptimizer: () => SGD,
} as never)
const LAYOUT = denseLayout(PROGRAM, SGD)
const SLICE = { from: 0, to: LAYOUT.floats }

function openServer(mode: PsMode) {
  const store = new KernelStore({
    program: PROGRAM,
    optimizer: mode === 'geo' ? ADDING : SGD,
    seed: 1,
    segments: 1,
    slice: SLICE,
  })
  const server = new ParameterServer({ store, mode, workers: 1, threads: 1 })
  const sent = { bytes: 0 }
  const whole = (parts: readonly Uint8Array[]) => {
    const body = new Uint8Array(Buffer.concat(parts))
    sent.bytes += body.byteLength
    return body
  }
  const call: Call = async (_, method, parts, __, read) => read(whole(await server.handle(0, method, whole(parts))))
  return { store, call, sent }
}

/** Pulls, pushes gradients of `scale`, and pulls again. */
async function oneStep(half: boolean, scale: number) {
  const { store, call, sent } = openServer('async')
  const coder = new HalfCoder()
  const halved = half ? { halved: () => ({ coder, dense: LAYOUT.trainable }) } : {}
  const params = new RemoteParams({ call, thread: 0, segments: 1, slices: [SLICE], pushesAhead: 0, ...halved })
  const rng = createRng(1n)
  const random = (length: number) => Float32Array.from({ length }, () => rng.normal() * scale)
  const state = (values: Float32Array) => values.fill(1_234_567, LAYOUT.trainable)
  const share = {
    samples: 512,
    tables: [
      {
        table: 0,
        distinct: DISTINCT,
        rows: new Float32Array(DIM * SIGNS.length),
        gradients: random(DIM * SIGNS.length),
      },
    ],
    weights: new Float32Array(LAYOUT.floats),
    gradients: state(random(LAYOUT.floats)),
  }
  await params.pull(share, true)
  const before = { rows: share.tables[0]!.rows.slice(), weights: share.weights.slice() }
  await params.push(share)
  await params.pull(share, true)
  return { before, rows: share.tables[0]!.rows, weights: share.weights, store, bytes: sent.bytes }
}

function worstError(found: Float32Array, expected: Float32Array): number {
  const largest = Math.max(...expected.map(Math.abs))
  return Math.max(...found.map((value, i) => Math.abs(value - expected[i]!))) / largest
}

describe('pulls and pushes', () => {
  test('bring rows and weights to eleven bits with about half the bytes', async () => {
    const [plain, half] = [await oneStep(false, 0.01), await oneStep(true, 0.01)]
    expect(worstError(half.before.rows, plain.before.rows)).toBeLessThan(2 ** -11)
    expect(worstError(half.rows, plain.rows)).toBeLessThan(2 ** -10)
    expect(
      worstError(half.weights.subarray(0, LAYOUT.trainable), plain.weights.subarray(0, LAYOUT.trainable)),
    ).toBeLessThan(2 ** -10)
    const signBytes = 3 * 8 * SIGNS.length
    expect((half.bytes - signBytes) / (plain.bytes - signBytes)).toBeLessThan(0.56)
  })

  test('gradients of any size keep their bits', async () => {
    const [plain, half] = [await oneStep(false, 1e-9), await oneStep(true, 1e-9)]
    const moved = ({ store, before }: typeof plain) =>
      store.pull({ groups: [DISTINCT], tableGroups: [0] }, false)[0]!.map((value, i) => value - before.rows[i]!)
    // Rows themselves are exact on the server: only the gradient is rounded.
    const [expected, found] = [moved(plain), moved({ ...half, before: plain.before })]
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(0)
    expect(worstError(found, expected)).toBeLessThan(0.01)
  })

  test('running statistics are exact', async () => {
    const { weights } = await oneStep(true, 0.01)
    expect(weights.subarray(LAYOUT.trainable).every((value) => value === 1_234_567)).toBe(true)
  })
})

test('what a geo worker sends as float16 is what it knows to be on the server', async () => {
  const { store, call } = openServer('geo')
  const local = createCopy({ program: PROGRAM, optimizer: SGD, seed: 1, segments: 1, threads: 3 }, 'whole')
  const exchange = new GeoExchange({
    ...{ call, segments: 1, local, thread: 1, workers: 1 },
    ...{ placement: { servers: 1, shards: 1 }, slices: [SLICE], isHalved: () => true },
  })
  const params = new LocalParams(local, 0)
  const rows = new Float32Array(DIM * SIGNS.length)
  params.tables[0]!.lookup(DISTINCT, rows, true)
  const rng = createRng(2n)
  for (let step = 0; step < 20; step++) {
    params.tables[0]!.lookup(DISTINCT, rows, true)
    const gradients = rows.map(() => rng.normal() / 100)
    params.tables[0]!.update(DISTINCT, gradients, { step: 0, rate: 1, baseRate: 1, aux: 0 })
    await exchange.run([[{ tables: [0], signs: [SIGNS] }]])
  }
  params.tables[0]!.lookup(DISTINCT, rows, true)
  const served = store.pull({ groups: [DISTINCT], tableGroups: [0] }, false)[0]!
  // One rounding apart, not twenty.
  expect(worstError(rows, served)).toBeLessThan(2 ** -10)
})
