/**
 * @file A job of several workers in one thread and in a fixed order: the servers, the exchange, the stores and the steps are those of
 * real processes; only sockets are left out. Workers take turns batch by batch, so that a run gives the same weights every time.
 */
import type { Batch, Slot } from '../../src/data/index.ts'
import type { Session } from '../../src/graph/engine/index.ts'
import type { TracedModel } from '../../src/model/index.ts'
import {
  type Call,
  createCopy,
  GeoExchange,
  type GeoExchangeOptions,
  GeoParams,
  geoServerRules,
  KernelStore,
  ParameterServer,
  type PsMode,
  RemoteParams,
  TouchedParams,
} from '../../src/training/ps/index.ts'
import { HostStep, hostGraph } from '../../src/training/step/index.ts'
import {
  createLocalParams,
  denseLayout,
  denseSlices,
  LocalParams,
  type Params,
} from '../../src/weights/params/index.ts'
import { DEFAULT_SHARDS } from '../../src/weights/table/index.ts'
import { trainThreads } from './threads.ts'

export const MODES = ['one', 'threads', 'sync', 'half_async', 'async', 'geo'] as const
export type Mode = (typeof MODES)[number]

/** Counted up when a mode's rule changes: runs of an older one are no longer its own. */
export const RULES: Readonly<Partial<Record<Mode, string>>> = { half_async: '2', async: '2', geo: '5' }

export interface GeoSettings extends Partial<Pick<GeoExchangeOptions, 'delta'>> {
  readonly step: number
  readonly denseStep: number
}

export interface SimulateOptions {
  readonly model: TracedModel
  readonly sessions: { readonly train: Session; readonly infer: Session }
  readonly mode: Mode
  /** With `threads`: trainer threads. */
  readonly workers: number
  /** @default 2 */
  readonly servers?: number
  readonly seed: number
  readonly batchSize: number
  readonly train: readonly Batch[]
  readonly test: readonly Batch[]
  readonly geo?: GeoSettings
  /** How worker `rank` asks servers. @default it calls them */
  readonly link?: (servers: readonly ParameterServer[], rank: number) => Call
}

/** Predictions of the test rows, by the name of the metric. */
export interface Predicted {
  readonly labels: Float64Array
  readonly predictions: Float64Array
}

const SEGMENTS = 1

/** Trains on all of `train`, worker w on the batches w, w + workers, ..., and predicts `test` with what the servers then hold. */
export async function simulate(options: SimulateOptions): Promise<Readonly<Record<string, Predicted>>> {
  const job = openJob(options)
  await TRAIN[options.mode](job)
  return predict(job)
}

interface Job {
  readonly options: SimulateOptions
  readonly servers: readonly ParameterServer[]
  readonly placement: { readonly servers: number; readonly shards: number }
  /** Of one process, with one thread or several. */
  readonly local?: LocalParams
  call(rank: number): Call
  remote(rank: number, ahead: boolean): RemoteParams
  step(params: Params, isRemote: boolean, training?: boolean): HostStep
  /** The batches of a worker. */
  batches(rank: number): Batch[]
}

function openJob(options: SimulateOptions): Job {
  const { model, sessions, mode, workers, seed, batchSize, servers: count = 2 } = options
  const { train: program, infer, optimizer, tableOptimizers, slots, metrics } = model
  const layout = denseLayout(program, optimizer)
  const slices = denseSlices(layout.floats, count)
  const placement = { servers: count, shards: DEFAULT_SHARDS }
  const rules =
    mode === 'geo'
      ? geoServerRules({ program, optimizer, tableOptimizers }, options.geo?.delta ?? 'whole')
      : { optimizer, tableOptimizers }
  const local = openLocal(options)
  const servers =
    local !== undefined
      ? []
      : slices.map((slice) => {
          const store = new KernelStore({ program, ...rules, seed, segments: SEGMENTS, slice })
          return new ParameterServer({ store, mode: mode as PsMode, workers, threads: 1, segments: SEGMENTS })
        })
  const { link = directly } = options
  const call = (rank: number) => link(servers, rank)
  return {
    ...{ options, servers, placement, call },
    ...(local && { local }),
    remote: (rank, ahead) => new RemoteParams({ call: call(rank), thread: 0, segments: SEGMENTS, slices, ahead }),
    step: (params, isRemote, training = true) =>
      new HostStep({
        ...{ params, slots: slots as Slot[], metrics, layout, segments: SEGMENTS, seed, batchSize, training },
        ...(isRemote && { placement }),
        ...(optimizer.clip && { clip: optimizer.clip }),
        program: training ? program : infer,
        graph: hostGraph(training ? sessions.train : sessions.infer),
      }),
    batches: (rank) =>
      options.train.filter(({ index }) => index % workers === rank).map((batch, index) => ({ ...batch, index })),
  }
}

/** Where there are no servers. */
function openLocal(options: SimulateOptions): LocalParams | undefined {
  const { mode, workers } = options
  if (mode !== 'one' && mode !== 'threads') return undefined
  const threads = mode === 'one' ? 1 : workers
  const handle = createLocalParams({ ...localOptions(options), threads: threads + 1, inFlight: threads - 1 })
  return new LocalParams(handle, threads)
}

const directly =
  (servers: readonly ParameterServer[], rank: number): Call =>
  async (server, method, parts, _what, read) => {
    const asked = servers[server]!.handle(rank, method, joined(parts))
    // What is answered at once is good until the next request.
    return read(asked instanceof Promise ? joined(await asked) : joined(asked))
  }

function localOptions({ model, seed }: SimulateOptions) {
  const { train: program, optimizer, tableOptimizers } = model
  return { program, optimizer, tableOptimizers, seed, segments: SEGMENTS }
}

const TRAIN: Readonly<Record<Mode, (job: Job) => Promise<void>>> = {
  one: async (job) => {
    const step = job.step(job.local!, false)
    for (const batch of job.options.train) await step.run(batch)
  },
  threads: ({ options, local }) =>
    trainThreads({ ...options, params: local!, threads: options.workers, segments: SEGMENTS }),
  /** All pull, all push: the servers make one step of them. */
  sync: async (job) => {
    const workers = ranks(job).map((rank) => ({
      step: job.step(job.remote(rank, false), true),
      batches: job.batches(rank),
    }))
    for (let i = 0; i < workers[0]!.batches.length; i++) {
      const prepared = workers.map(({ step, batches }) => step.prepare(batches[i]!))
      for (const [rank, { step }] of workers.entries()) await step.complete(prepared[rank]!)
    }
  },
  /** Each pulls as soon as it has pushed: when it pushes next, all others have pushed once. */
  half_async: async (job) => {
    const workers = ranks(job).map((rank) => {
      const [step, batches] = [job.step(job.remote(rank, false), true), job.batches(rank)]
      return { step, batches, prepared: step.prepare(batches[0]!) }
    })
    for (let i = 0; i < workers[0]!.batches.length; i++) {
      for (const worker of workers) {
        await worker.step.complete(worker.prepared)
        const next = worker.batches[i + 1]
        if (next) worker.prepared = worker.step.prepare(next)
      }
    }
  },
  /** Rows of the next batch are pulled before this one is computed; dense weights are those after the worker's own last push. */
  async: async (job) => {
    const workers = ranks(job).map((rank) => {
      const remote = job.remote(rank, true)
      const steps = [job.step(remote, true), job.step(remote, true)] as const
      const batches = job.batches(rank)
      return { remote, steps, batches, prepared: steps[0].prepare(batches[0]!) }
    })
    for (let i = 0; i < workers[0]!.batches.length; i++) {
      for (const worker of workers) {
        const current = worker.prepared
        const next = worker.batches[i + 1]
        if (next) worker.prepared = worker.steps[(i + 1) % 2]!.prepare(next)
        await worker.steps[i % 2]!.complete(current)
      }
    }
    for (const { remote } of workers) await remote.flush()
  },
  /** Each trains its own copy; all come to an exchange after the same batch, one after the other. */
  geo: async (job) => {
    const { geo = { step: 100, denseStep: 2 } } = job.options
    const copies = ranks(job).map((rank) => openCopy(job, rank, geo))
    for (const { exchange } of copies) await exchange.begin(nothing)
    for (let i = 0; i < copies[0]!.batches.length; i++) {
      for (const { step, batches } of copies) await step.run(batches[i]!)
      const isFull = (i + 1) % geo.step === 0
      if (!isFull && (i + 1) % geo.denseStep !== 0) continue
      for (const { exchange, touched } of copies) {
        if (isFull) await exchange.run([touched.take()])
        else if (geo.delta === 'share') await exchange.run([])
        else await exchange.run([touched.take()], 'often')
      }
    }
    for (const { exchange, touched } of copies) await exchange.settle([touched.take()])
  },
}

/** A geo worker: its copy of the model, which rows it has trained, and its exchange. */
function openCopy(job: Job, rank: number, { delta = 'whole' }: GeoSettings) {
  const { options, placement } = job
  const { workers, model, servers = 2 } = options
  const local = createCopy({ ...localOptions(options), threads: 3 }, delta)
  const touched = new TouchedParams(new LocalParams(local, 0))
  const slices = denseSlices(denseLayout(model.train, model.optimizer).floats, servers)
  const exchange = new GeoExchange({
    ...{ segments: SEGMENTS, local, thread: 1, placement, slices, workers, delta },
    call: job.call(rank),
  })
  const params =
    delta === 'share' ? touched : new GeoParams(touched, job.remote(rank, true), model.optimizer.clip !== undefined)
  return { touched, exchange, step: job.step(params, false), batches: job.batches(rank) }
}

async function* nothing() {}

const ranks = ({ options }: Job) => Array.from({ length: options.workers }, (_, rank) => rank)

async function predict(job: Job): Promise<Record<string, Predicted>> {
  const { model, test } = job.options
  const step = job.local ? job.step(job.local, false, false) : job.step(job.remote(0, false), true, false)
  const specs = model.metrics.filter((spec) => spec.kind === 'auc')
  const found = specs.map(() => ({ labels: [] as number[], predictions: [] as number[] }))
  for (const batch of test) {
    await step.run(batch)
    for (const [s, { prediction, label }] of specs.entries()) {
      const { [prediction]: scores, [label]: labels } = step.outputs([prediction, label])
      const columns = scores!.data.length / batch.size
      for (let i = 0; i < batch.size; i++) {
        found[s]!.predictions.push(Number(scores!.data[i * columns + columns - 1]))
        found[s]!.labels.push(Number(labels!.data[i]))
      }
    }
  }
  return Object.fromEntries(
    specs.map(({ name }, s) => [
      name,
      { labels: Float64Array.from(found[s]!.labels), predictions: Float64Array.from(found[s]!.predictions) },
    ]),
  )
}

/** Copied: buffers are used again as soon as a call has returned. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const part of parts) {
    body.set(part, at)
    at += part.byteLength
  }
  return body
}
