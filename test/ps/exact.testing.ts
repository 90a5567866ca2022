/** @file Parameter-server jobs in one thread and in float64: the strategies themselves, without rounding and without a network. */

import type { Transport } from '../../src/base/net/index.ts'
import { memoryTransport } from '../../src/base/net/memory.testing.ts'
import { createRng } from '../../src/base/util/index.ts'
import { type Engine, referenceEngine, type Session, type TensorView } from '../../src/graph/engine/index.ts'
import type { Feeds, OptimizerSpec } from '../../src/index.ts'
import { traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import { concat, mean, type Tensor } from '../../src/nn.ts'
import {
  METHODS,
  ParameterServer,
  type PsMode,
  RemoteParams,
  ServerGroup,
  serveWorkers,
} from '../../src/training/ps/index.ts'
import { ReferenceStore } from '../../src/training/ps/reference-store.testing.ts'
import { type BatchParams, denseLayout, denseSlices, type Params } from '../../src/weights/params/index.ts'
import { serverOf, type TablesParameters } from '../../src/weights/table/index.ts'

const DIM = 3
export const SHARDS = 10

/** Two tables over two slots, two dense values, one hidden layer. */
class ExactModel {
  readonly #optimizer: OptimizerSpec

  constructor(optimizer: OptimizerSpec) {
    this.#optimizer = optimizer
  }

  createFeeds({ label, sparse, dense }: Feeds) {
    return { click: label('click'), user: sparse('user'), item: sparse('item'), x: dense('x', 2) }
  }

  net({ click, user, item, x }: { click: Tensor; user: nn.SparseSlot; item: nn.SparseSlot; x: Tensor }) {
    const deep = nn.embedding([user, item], { name: 'deep', dim: DIM })
    const wide = nn.embedding([user, item], { name: 'wide', dim: 1 })
    const hidden = nn.linear(concat([deep, x], 1), { name: 'hidden', out: 5, activation: 'tanh' })
    const logit = nn.linear(concat([hidden, wide], 1), { name: 'out', out: 1 })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)) }
  }

  createOptimizer() {
    return this.#optimizer
  }
}

export interface Sample {
  readonly click: number
  /** One sign a slot. */
  readonly signs: readonly [bigint, bigint]
  readonly x: readonly [number, number]
}

export function samples(count: number, seed: number): Sample[] {
  const rng = createRng(BigInt(seed))
  return Array.from({ length: count }, () => ({
    click: rng.below(2),
    signs: [BigInt(rng.below(12)), (1n << 63n) + BigInt(rng.below(12))],
    x: [rng.normal(), rng.normal()],
  }))
}

export interface Problem {
  /** Accessors, by table. */
  readonly tableParameters?: TablesParameters
  readonly traced: ReturnType<typeof traceModel>
  readonly session: Session
}

export async function openProblem(optimizer: OptimizerSpec, tableParameters: TablesParameters = {}): Promise<Problem> {
  const traced = traceModel(new ExactModel(optimizer) as never)
  const engine: Engine = referenceEngine({ precision: 'float64' })
  return { traced, session: await engine.compile(traced.train), tableParameters }
}

/** The stores of `servers` servers. */
export function openStores({ traced, tableParameters = {} }: Problem, servers: number): ReferenceStore[] {
  const { train: program, optimizer, tableOptimizers } = traced
  const rules = { optimizer, tableOptimizers, tableParameters }
  const slices = denseSlices(denseLayout(program, optimizer).floats, servers)
  return slices.map((slice) => new ReferenceStore({ program, ...rules, seed: 7, segments: 1, slice }))
}

export interface ExactJob {
  readonly stores: readonly ReferenceStore[]
  /** By worker. */
  readonly params: readonly RemoteParams<Float64Array>[]
  readonly groups: readonly ServerGroup[]
  close(): Promise<void>
}

export interface ExactJobOptions {
  readonly problem: Problem
  readonly mode: PsMode
  readonly workers: number
  readonly servers: number
  readonly transport?: Transport
  readonly retryMs?: number
}

/** Servers and workers over an in-process transport. */
export async function openJob(options: ExactJobOptions): Promise<ExactJob> {
  const { problem, mode, workers, servers, transport = memoryTransport(), retryMs } = options
  const stores = openStores(problem, servers)
  const endpoints = stores.map((_, rank) => `server-${rank}`)
  const shared = { jobId: 'exact', token: 'exact', agreement: {} }
  const listeners = await Promise.all(
    stores.map((store, rank) => {
      const server = new ParameterServer({ store, mode, workers, threads: 1 })
      const identity = { ...shared, role: 'server' as const, rank }
      const service = serveWorkers({ server, workers, identity, emit: () => undefined, deadAfterMs: 60_000 })
      service.done(60_000).catch(() => undefined)
      return transport.listen(endpoints[rank]!, service.accept)
    }),
  )
  const groups = await Promise.all(
    Array.from({ length: workers }, (_, rank) =>
      ServerGroup.open({
        servers: endpoints,
        identity: { ...shared, role: 'worker', rank },
        transport,
        deadAfterMs: 60_000,
        ...(retryMs !== undefined && { retryMs }),
      }),
    ),
  )
  const slices = denseSlices(layoutOf(problem).floats, servers)
  const params = groups.map(
    (group) =>
      new RemoteParams<Float64Array>({
        call: (...asked) => group.ask(...asked),
        thread: 0,
        segments: 1,
        slices,
        pushesAhead: mode === 'async' ? 0 : 2,
      }),
  )
  return {
    stores,
    params,
    groups,
    close: async () => {
      for (const group of groups) group.close()
      await Promise.all(listeners.map((listener) => listener.close()))
    },
  }
}

export const layoutOf = ({ traced }: Problem) => denseLayout(traced.train, traced.optimizer)

/** One step of one worker over its samples: pull, compute, push. */
export async function exactStep(
  problem: Problem,
  params: Params<Float64Array>,
  batch: readonly Sample[],
  servers: number,
): Promise<void> {
  const { traced, session } = problem
  const layout = layoutOf(problem)
  const { signs, lengths, inverse } = distinctByServer(batch, servers)
  const distinct = { signs, lengths }
  const dims = traced.train.tables.map(({ dim }) => dim)
  const share: BatchParams<Float64Array> = {
    samples: batch.length,
    tables: dims.map((dim, table) => ({
      ...{ table, distinct },
      rows: new Float64Array(signs.length * dim),
      gradients: new Float64Array(signs.length * dim),
      ...(problem.tableParameters && { showClick: showClickOf(batch, inverse, signs.length) }),
    })),
    weights: new Float64Array(layout.floats),
    gradients: new Float64Array(layout.floats),
  }
  await params.pull(share, true)
  const inputs: Record<string, TensorView> = {
    click: { data: BigInt64Array.from(batch, ({ click }) => BigInt(click)), dims: [batch.length, 1] },
    x: { data: Float64Array.from(batch.flatMap(({ x }) => x)), dims: [batch.length, 2] },
  }
  for (const { name, table } of traced.train.rows) {
    const t = traced.train.tables.findIndex((spec) => spec.name === table)
    const data = Float64Array.from(inverse.flatMap((row) => [...slice(share.tables[t]!.rows, row, dims[t]!)]))
    inputs[name] = { data, dims: [batch.length, 2 * dims[t]!] }
  }
  for (const { name, at, size, shape } of layout.entries)
    inputs[name] = { data: share.weights.slice(at, at + size), dims: shape }
  const outputs = await session.run(inputs)
  for (const { name, table } of traced.train.rows) {
    const t = traced.train.tables.findIndex((spec) => spec.name === table)
    const gradient = outputs[`grad:${name}`]!.data as Float64Array
    for (const [i, row] of inverse.entries())
      for (let d = 0; d < dims[t]!; d++) share.tables[t]!.gradients[row * dims[t]! + d]! += gradient[i * dims[t]! + d]!
  }
  for (const { name, at } of layout.entries) share.gradients.set(outputs[`grad:${name}`]!.data as Float64Array, at)
  await params.push(share)
}

/** Slot, shows and clicks of each distinct sign. */
function showClickOf(batch: readonly Sample[], inverse: readonly number[], signs: number): Float32Array {
  const showClick = new Float32Array(3 * signs)
  const each = inverse.length / batch.length
  for (const [i, row] of inverse.entries()) {
    showClick[3 * row] = 1
    showClick[3 * row + 1]! += 1
    showClick[3 * row + 2]! += batch[Math.floor(i / each)]!.click
  }
  return showClick
}

const slice = (values: Float64Array, row: number, dim: number) => values.subarray(row * dim, (row + 1) * dim)

function distinctByServer(batch: readonly Sample[], servers: number) {
  const placement = { shards: SHARDS, servers }
  const all = [...new Set(batch.flatMap(({ signs }) => signs))]
  const owner = (sign: bigint) => (servers === 1 ? 0 : serverOf(sign, placement))
  all.sort((a, b) => owner(a) - owner(b))
  const lengths = new Uint32Array(servers)
  for (const sign of all) lengths[owner(sign)]!++
  const inverse = batch.flatMap(({ signs }) => signs.map((sign) => all.indexOf(sign)))
  return { signs: BigUint64Array.from(all), lengths, inverse }
}

/** All rows and dense weights, with optimizer state, by name: what two runs are compared by. */
export function everything(stores: readonly ReferenceStore[], { traced }: Problem): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const [t, { name }] of traced.train.tables.entries()) {
    for (const store of stores)
      for (const { signs, rows } of store.scan(t)) found.set(`${name}:${signs[0]}`, [...new Float64Array(rows.buffer)])
  }
  const runs = stores.map((store) => new Float64Array(store.dense().bytes.slice().buffer))
  const weights = runs.flatMap((values, s) => [...values.subarray(0, stores[s]!.denseSize)])
  found.set('dense', weights)
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

export { METHODS }
