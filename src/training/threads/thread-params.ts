/** @file A trainer thread's parameters, wherever they live, and what differs for the thread. */
import { type DenseLayout, LocalParams, type Params } from '../../weights/params/index.ts'
import type { Placement } from '../../weights/table/index.ts'
import { hostPassRows, type PassHandle, type PassRows } from '../passes/index.ts'
import {
  GeoParams,
  type GeoParamsHandle,
  openRemoteParams,
  type RemoteParamsHandle,
  type Touched,
  TouchedParams,
} from '../ps/index.ts'
import {
  type HybridHandle,
  HybridParams,
  openDeviceRows,
  openParallel,
  type ParallelHandle,
  rowsPlace,
  type StepGraph,
  type StepSeconds,
} from '../step/index.ts'
import { throughGate } from './gate.ts'
import type { Phase, TrainerThreadSettings } from './messages.ts'

export interface ThreadParams {
  readonly params: Params
  readonly layout: DenseLayout
  readonly placement?: Placement | undefined
  /** Batches prepared while one is computed. */
  readonly pullsAhead: number
  /** Takes part in a step without samples. */
  skip(): void | Promise<void>
  /** Clips gradients itself, where that can only be done with those of other ranks. @default false */
  readonly clips?: boolean
  /** Ends a pass that ranks make together: takes part until none has samples. */
  drain?(stopping: boolean): Promise<void>
  /** The next step says to the other ranks that this one was asked to stop. */
  announce?(): void
  /** A rank in step with this one was asked to stop. */
  stopping?(): boolean
  /** Rows of passes, where they are trained away from the host's tables. */
  readonly passRows?: PassRows
  /** What trains rows where they lie on a device. @default a graph over rows that this process keeps */
  readonly graph?: StepGraph
  /** Something about these parameters that users should know. */
  readonly notice?: string | undefined
  /** Rows trained since this was last asked, where they are kept track of. */
  touched(): Touched
  /** Where the time went, in parts that do not overlap; starts anew. */
  breakdown(seconds: StepSeconds): Record<string, number>
}

/** By phase: a geo worker trains its own copy and evaluates what the servers hold. */
export async function openThreadParams(
  settings: TrainerThreadSettings,
): Promise<Readonly<Record<Phase, ThreadParams>>> {
  const { params, thread, clip } = settings
  const both = (one: ThreadParams) => ({ train: one, infer: one })
  if (params.kind === 'local') return both(openLocal(new LocalParams(params, thread)))
  if (params.kind === 'parallel') return openRanks(params, thread, clip)
  if (params.kind === 'hybrid') return openHybrid(params, thread, clip)
  if (params.kind === 'remote') return both(await openRemote(params))
  if (params.kind === 'pass') return await openPasses(params, settings)
  return await openGeo(params, thread, clip)
}

async function openGeo(
  { local: handle, remote, delta }: GeoParamsHandle,
  thread: number,
  clip: TrainerThreadSettings['clip'],
) {
  const local = new LocalParams(handle, thread)
  const copy = new TouchedParams(local)
  const infer = await openRemote(remote)
  const params = delta === 'share' ? copy : new GeoParams(copy, infer.params, clip !== undefined)
  return { train: { ...openLocal(local), params, layout: remote.layout, touched: () => copy.take() }, infer }
}

/** Evaluation is of the host's tables, wherever a pass trains. */
async function openPasses(handle: PassHandle, settings: TrainerThreadSettings) {
  const { thread, clip, device, programs, engine, gate } = settings
  const local = new LocalParams(handle.host, thread)
  const infer = openLocal(local)
  const tables = { tables: handle.host.tables, count: handle.device.count }
  const place = engine === 'ort' ? rowsPlace(tables, device, clip !== undefined) : ({ on: 'host' } as const)
  if (place.on === 'host') {
    const notice = place.why && `Rows stay in memory, and only the rest is computed on ${device.name}: ${place.why}.`
    return { train: { ...infer, passRows: hostPassRows(local, handle, thread), notice }, infer }
  }
  const own = { program: programs.train!, params: local, guard: throughGate(gate) }
  const rows = await openDeviceRows({ ...own, device, handle, thread })
  return { train: { ...infer, passRows: rows, graph: rows }, infer }
}

/** In step with other ranks: how a pass ends differs by phase. */
function openRanks(handle: ParallelHandle, thread: number, clip: TrainerThreadSettings['clip']) {
  const local = new LocalParams(handle.local, thread)
  const params = openParallel(handle, local, clip)
  const of = (phase: Phase): ThreadParams => ({
    ...openLocal(local),
    params,
    clips: true,
    placement: params.isSharded ? { servers: handle.group.size, shards: 0 } : undefined,
    drain: (stopping) => params.drain(phase === 'train', stopping),
    announce: () => params.announce(),
    stopping: () => params.stopping,
  })
  return { train: of('train'), infer: of('infer') }
}

/** Gradients are clipped by each rank, as those of rows go to the servers before others are known. */
async function openHybrid(handle: HybridHandle, thread: number, clip: TrainerThreadSettings['clip']) {
  const local = new LocalParams(handle.dense.local, thread)
  const dense = openParallel(handle.dense, local, undefined)
  const remote = await openRemote(handle.rows)
  const of = (phase: Phase): ThreadParams => ({
    ...remote,
    params: new HybridParams({ rows: remote.params, dense, training: phase === 'train', clipped: clip !== undefined }),
    layout: local.dense.layout,
    drain: (stopping) => dense.drain(phase === 'train', stopping),
    stopping: () => dense.stopping,
  })
  return { train: of('train'), infer: of('infer') }
}

async function openRemote(handle: RemoteParamsHandle): Promise<ThreadParams> {
  const remote = await openRemoteParams(handle)
  const { layout, placement, pullsAhead } = handle
  return {
    params: remote,
    layout,
    placement,
    pullsAhead,
    skip: () => remote.skip(),
    touched: () => [],
    breakdown: (all) => ({ ...all }),
  }
}

function openLocal(local: LocalParams): ThreadParams {
  return {
    params: local,
    layout: local.dense.layout,
    pullsAhead: 0,
    skip: () => undefined,
    touched: () => [],
    breakdown(seconds) {
      // Dense weights are taken out of lookup and update.
      const { pull, push } = local.denseSeconds
      Object.assign(local.denseSeconds, { pull: 0, push: 0 })
      return { ...seconds, lookup: seconds.lookup - pull, update: seconds.update - push, dense: pull + push }
    },
  }
}
