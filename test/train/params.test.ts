/** @file The contract of Params, for every place where weights may live. Servers, where there are some, are real ones in this process. */
import { MessageChannel, Worker } from 'node:worker_threads'
import type { GeoDelta } from '../../src/base/config/index.ts'
import { HalfCoder } from '../../src/base/kernel/index.ts'
import { socketTransport, type Transport } from '../../src/base/net/index.ts'
import { memoryTransport } from '../../src/base/net/memory.testing.ts'
import { joinedParams, openGeoParams } from '../../src/paddle/fleet/step-params.ts'
import {
  type Call,
  createCopy,
  GeoParams,
  gatherRows,
  geoServerRules,
  KernelStore,
  openRemoteParams,
  ParameterServer,
  type PsMode,
  RemoteParams,
  type RemoteParamsHandle,
  ServerGroup,
  serveThread,
  serveWorkers,
  TouchedParams,
  WiredParams,
} from '../../src/training/ps/index.ts'
import { halvedSlice } from '../../src/training/ps/runs.ts'
import { HybridParams } from '../../src/training/step/parallel/hybrid-params.ts'
import { ParallelParams } from '../../src/training/step/parallel/parallel-params.ts'
import { KernelUnion } from '../../src/training/step/parallel/sign-union.ts'
import {
  type BatchParams,
  denseSlices,
  LocalParams,
  type LocalParamsHandle,
  type Params,
} from '../../src/weights/params/index.ts'
import { inProcess } from '../collective/in-process.testing.ts'
import {
  layoutOf,
  localHandle,
  type OpenedParams,
  type ParamsProblem,
  SEED,
  SEGMENTS,
  testParams,
} from '../contracts/params.ts'

testParams({ name: 'local memory', open: (problem) => local(new LocalParams(localHandle(problem), 0)) })

testParams({
  name: 'local memory, threads in one step',
  contributors: 2,
  open: (problem, count) => {
    const handle = localHandle(problem, count, true)
    const threads = Array.from({ length: count }, (_, thread) => inThread(handle, thread))
    const close = () => Promise.all(threads.map(({ end }) => end())).then(() => undefined)
    return { params: threads, sliced: true, close }
  },
})

testParams({
  name: 'local memory that remembers signs (geo)',
  open: (problem) => local(new TouchedParams(new LocalParams(localHandle(problem), 0))),
})

testParams({
  name: 'local memory, joined at the first push (fleet)',
  open: (problem) => local(joinedParams(new LocalParams(localHandle(problem), 0), async () => undefined)),
})

testParams({
  name: 'servers, sync',
  contributors: 2,
  open: (problem, workers) => onServers(problem, { mode: 'sync', workers }),
})

testParams({
  name: 'servers, half_async',
  contributors: 2,
  open: (problem, threads) => onServers(problem, { mode: 'half_async', threads }),
})

testParams({ name: 'servers, async', open: (problem) => onServers(problem, { mode: 'async' }) })

testParams({
  name: 'servers, async, dense weights with the push',
  open: (problem) => onServers(problem, { mode: 'async', ahead: true }),
})

testParams({
  name: 'servers, async, values as float16',
  tolerance: 0.02,
  open: (problem) => onServers(problem, { mode: 'async', ahead: true, halved: true }),
})

testParams({
  name: 'servers that hold blocks of weights',
  open: async (problem) => {
    const opened = await onServers(problem, { mode: 'async' })
    const { entries, floats } = layoutOf(problem)
    const runs = entries.map(({ at, size }) => ({ at, wire: at, size }))
    return {
      ...opened,
      params: opened.params.map((inner) => new WiredParams(inner, { floats, runs, equalPushes: false })),
    }
  },
})

testParams({
  name: 'servers of this host, async, in shared memory',
  open: (problem) => onThisHost(problem, 'async', 1),
})

testParams({ name: 'servers of this host, sync, in shared memory', open: (problem) => onThisHost(problem, 'sync', 0) })

testParams({
  name: 'a copy that is exchanged with servers (geo)',
  accessors: false,
  open: async (problem) => {
    const servers = await openServers(problem, { mode: 'geo' })
    const params = openGeoParams({
      program: { model: problem.model, seed: SEED },
      segments: SEGMENTS,
      slices: servers.slices,
      placement: PLACEMENT,
      call: (...asked) => servers.groups[0]!.ask(...asked),
      geoStep: 1,
      workers: 1,
      rows: (table) => gatherRows(servers.groups[0]!, table),
    })
    // A copy of its own is not divided among servers.
    return { params: [params], close: servers.close }
  },
})

testParams({
  name: 'rows in a copy, dense weights on servers (geo)',
  accessors: false,
  open: async (problem, _, clip) => {
    const servers = await openServers(problem, { mode: 'geo', delta: 'whole' })
    const { train, optimizer, tableOptimizers } = problem.model
    const options = { program: train, optimizer, tableOptimizers, seed: SEED, segments: SEGMENTS }
    const copy = new LocalParams(createCopy({ ...options, threads: 1 }, 'whole'), 0)
    const dense = new RemoteParams({ ...remoteOptions(servers, 0, 0), ahead: true })
    return { params: [new GeoParams(copy, dense, clip !== undefined)], close: servers.close }
  },
})

testParams({ name: 'ranks, every row on all', contributors: 2, open: (problem, size) => onRanks(problem, size, false) })

testParams({
  name: 'ranks, each with its own rows',
  contributors: 2,
  open: (problem, size) => onRanks(problem, size, true),
})

testParams({
  name: 'rows on servers, dense weights among ranks (hybrid)',
  open: async (problem) => {
    const servers = await openServers(problem, { mode: 'async', rowsOnly: true })
    const rows = new RemoteParams({ ...remoteOptions(servers, 0, 0), ahead: true })
    const { train } = problem.model
    const model = { ...problem.model, train: { ...train, tables: [] } }
    const dense = openRank({ ...problem, model, tableParameters: {} }, 1, [])[0]!
    const params = new HybridParams({ rows, dense, training: true, clipped: true })
    return { params: [params], placement: PLACEMENT, close: servers.close }
  },
})

function local(params: Params): OpenedParams {
  return { params: [params], close: () => undefined }
}

/** LocalParams in a thread of its own, since threads that step together wait for each other. */
function inThread(handle: LocalParamsHandle, thread: number): Params & { end(): Promise<unknown> } {
  const module = new URL('./params.module.mjs', import.meta.url).href
  const worker = new Worker(THREAD, { eval: true, workerData: { module, handle, thread } })
  const ask = (call: 'pull' | 'push', batch: BatchParams, insert: boolean) =>
    new Promise<{ readonly batch: BatchParams; readonly step: number }>((resolve, reject) => {
      worker.once('message', resolve).once('error', reject)
      worker.postMessage({ call, batch, insert })
    })
  return {
    async pull(batch, insert) {
      const { batch: pulled } = await ask('pull', batch, insert)
      for (const [t, { rows }] of batch.tables.entries()) rows.set(pulled.tables[t]!.rows)
      batch.weights.set(pulled.weights)
    },
    push: async (batch) => (await ask('push', batch, true)).step,
    flush: () => undefined,
    end: () => worker.terminate(),
  }
}

const THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
import(workerData.module).then(({ LocalParams }) => {
  const params = new LocalParams(workerData.handle, workerData.thread)
  parentPort.on('message', ({ call, batch, insert }) => {
    const step = call === 'pull' ? params.pull(batch, insert) : params.push(batch)
    parentPort.postMessage({ batch, step })
  })
})
`

const SERVERS = 2
const PLACEMENT = { servers: SERVERS, shards: 10 }

interface ServersOptions {
  readonly mode: PsMode
  /** Of geo. */
  readonly delta?: GeoDelta
  readonly workers?: number
  readonly threads?: number
  readonly rowsOnly?: boolean
  readonly transport?: Transport
}

/** Two servers, and each worker's connections to them. */
async function openServers(problem: ParamsProblem, options: ServersOptions) {
  const { mode, workers = 1, threads = 1, rowsOnly = false, transport = memoryTransport() } = options
  const { train: program, optimizer, tableOptimizers } = problem.model
  const { tableParameters } = problem
  const rules =
    mode === 'geo'
      ? geoServerRules({ program, optimizer, tableOptimizers }, options.delta ?? 'share')
      : { optimizer, tableOptimizers, tableParameters }
  const slices = denseSlices(rowsOnly ? 0 : layoutOf(problem).floats, SERVERS)
  const shared = { jobId: 'params', token: 'params', agreement: {} }
  const listeners = await Promise.all(
    slices.map((slice, rank) => {
      const store = new KernelStore({ program, ...rules, seed: SEED, segments: SEGMENTS, slice })
      const server = new ParameterServer({ store, mode, workers, threads, segments: SEGMENTS })
      const identity = { ...shared, role: 'server' as const, rank }
      const localPath = transport === socketTransport ? localPathOf(rank) : undefined
      const service = serveWorkers({ server, workers, identity, emit: () => undefined, localPath, deadAfterMs: 60_000 })
      service.done(60_000).catch(() => undefined)
      const endpoint = transport === socketTransport ? '127.0.0.1:0' : `server-${rank}`
      return Promise.all([
        transport.listen(endpoint, service.accept),
        ...(localPath ? [transport.listen(localPath, service.accept)] : []),
      ])
    }),
  )
  const servers = listeners.map(([listener]) => listener!.endpoint)
  const identities = Array.from({ length: workers }, (_, rank) => ({ ...shared, role: 'worker' as const, rank }))
  const groups = await Promise.all(
    identities.map((identity) => ServerGroup.open({ servers, identity, transport, deadAfterMs: 60_000 })),
  )
  const close = async () => {
    for (const group of groups) group.close()
    await Promise.all(listeners.flat().map((listener) => listener.close()))
  }
  return { slices, groups, identities, servers, close }
}

let paths = 0
const localPathOf = (rank: number) => `/tmp/oarfish-params-${process.pid}-${paths++}-${rank}.sock`

function remoteOptions({ groups, slices }: Awaited<ReturnType<typeof openServers>>, worker: number, thread: number) {
  const call: Call = (...asked) => groups[worker]!.ask(...asked)
  return { call, thread, segments: SEGMENTS, slices }
}

async function onServers(
  problem: ParamsProblem,
  options: ServersOptions & { readonly ahead?: boolean; readonly halved?: boolean },
): Promise<OpenedParams> {
  const { workers = 1, threads = 1, ahead, halved } = options
  const servers = await openServers(problem, options)
  const coder = new HalfCoder()
  const { trainable } = layoutOf(problem)
  const params = Array.from({ length: workers * threads }, (_, i) => {
    const own = remoteOptions(servers, Math.floor(i / threads), i % threads)
    const packed = halved ? (server: number) => halvedSlice(coder, trainable, servers.slices[server]!) : undefined
    return new RemoteParams({ ...own, ahead, halved: packed })
  })
  return { params, placement: PLACEMENT, close: servers.close }
}

/** Over the link of a trainer thread: a unix socket and memory that both sides see. */
async function onThisHost(problem: ParamsProblem, mode: PsMode, pullsAhead: 0 | 1): Promise<OpenedParams> {
  const { groups, identities, servers, slices, close } = await openServers(problem, {
    mode,
    transport: socketTransport,
  })
  const { port1, port2 } = new MessageChannel()
  serveThread(port1, groups[0]!)
  const links = {
    identity: identities[0]!,
    servers,
    paths: servers.map((_, server) => groups[0]!.localPath(server, 0)),
    bytes: 1 << 20,
    timeoutMs: 60_000,
  }
  const handle: RemoteParamsHandle = {
    kind: 'remote',
    port: port2,
    thread: 0,
    layout: layoutOf(problem),
    slices,
    segments: SEGMENTS,
    placement: PLACEMENT,
    pullsAhead,
    links,
  }
  const params = await openRemoteParams(handle)
  const closeAll = async () => {
    port1.close()
    await close()
  }
  return { params: [params], placement: PLACEMENT, close: closeAll }
}

function onRanks(problem: ParamsProblem, size: number, sharded: boolean): OpenedParams {
  const params = openRank(
    problem,
    size,
    problem.model.train.tables.map(() => sharded),
  )
  return { params, placement: sharded && size > 1 ? { servers: size, shards: 0 } : undefined, close: () => undefined }
}

/** Each rank with tables and dense weights of its own. */
function openRank(problem: ParamsProblem, size: number, sharded: readonly boolean[]): ParallelParams[] {
  return inProcess(size).map((ranks) => {
    const handle = localHandle(problem, 1, true)
    const inner = new LocalParams(handle, 0)
    const { dense } = inner
    return new ParallelParams({
      ranks,
      inner,
      program: problem.model.train,
      layout: dense.layout,
      room: { values: dense.room, put: (from, start, end, factor) => dense.putWeighed(from, start, end, factor) },
      groups: [0, 0, 1].slice(0, problem.model.train.tables.length),
      sharded,
      counted: inner.tables.map(({ accessor }) => accessor !== undefined),
      segments: SEGMENTS,
      open: (dims) => new KernelUnion(dims, SEGMENTS),
      zeros: (length) => new Float32Array(length),
    })
  })
}
