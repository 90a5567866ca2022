/** @file A trainer of a job with servers: every step is made by all trainers together, node 0 loads and saves. */

import { namedCluster } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { fields, optional, text, whole } from '../../base/net/index.ts'
import type { Part } from '../../data/index.ts'
import {
  checkSplit,
  fileReports,
  firstDifference,
  PassRecord,
  readFileReports,
  readReport,
  sumReports,
} from '../../training/driver/index.ts'
import type { DataFiles, PassResult, StepReport } from '../../training/threads/index.ts'
import { ConnectedWorker, together } from '../fleet/index.ts'
import type { ServerPlan } from './endpoints.ts'
import { goingOnFrom } from './going-on.ts'
import {
  type JobOptions,
  jobConfig,
  loadPass,
  type PassOptions,
  passOptionsOf,
  readersOf,
  savePass,
  type TrainerJob,
} from './job.ts'
import { jobEnv } from './set-up.ts'
import type { SetUpConnections } from './set-up-trainer.ts'

/** How trainers and servers of v1 work together. */
export const SYNC = { mode: 'sync', geoStep: 1, tableParameters: {} } as const
/** Memory segments of a table. */
export const SEGMENTS = 4

type Phase = 'train' | 'infer'

export interface ClusterJobOptions extends JobOptions {
  readonly plan: ServerPlan
  readonly connections: SetUpConnections
}

const MOST = 2 ** 31 - 1
const path = text(16 * 1024)
const readPassOptions = fields<PassOptions>({
  job: text(64),
  start_pass: whole(0, MOST),
  num_passes: whole(1, MOST),
  test_pass: optional(whole(0, MOST)),
  saving_period: whole(0, MOST),
  save_dir: path,
  init_model_path: path,
  saved_pass: optional(whole(0, MOST)),
})

export async function openClusterJob(given: ClusterJobOptions): Promise<TrainerJob> {
  const { config, options, files, env, emit, onStep } = given
  const { trainer_id: rank, num_gradient_servers: workerNum, trainer_count: threads } = options
  const worker = await joinServers(given)
  try {
    const typed: PassOptions = passOptionsOf(options)
    const own = rank === 0 ? await goingOnFrom(typed, env, emit) : typed
    // Only node 0 need have a folder to save to; others would go on while it waits for them.
    const [first = own] = await worker.allGatherJson('options of node 0', own, readPassOptions)
    const parts = await agreeOnFiles(worker, files, { index: rank, count: workerNum }, emit)
    const runtime = await openRuntime(worker, given)
    // The reports of its threads are one of the node.
    let reports = 0
    const onReport = (report: StepReport) => {
      if (++reports % threads === 0) onStep?.(report)
    }
    const alone = { worker, rank }
    return {
      options: first,
      isFirst: rank === 0,
      tests: files.infer !== undefined,
      pass: (phase, number) => runPass({ worker, runtime, part: parts[phase], onReport, given }, phase, number),
      load: (folder, whole) =>
        together(alone, `load(${folder})`, async () => {
          const params = worker.blank()
          await loadPass(folder, params, whole, emit)
          await worker.scatter(params)
        }),
      save: (folder, number, metrics) =>
        together(alone, `save(${folder})`, async () => {
          const params = await worker.gather()
          await savePass(folder, { params, config, seed: options.seed, pass: number, metrics, emit })
        }),
      close: async () => {
        await runtime.close()
        await worker.allGatherJson('end of the job', null)
        await worker.close()
      },
      abort: async (error) => {
        worker.abort(error)
        await runtime.close()
      },
    }
  } catch (error) {
    worker.abort(error as Error)
    throw error
  }
}

/** Announces the model to the servers and, when all trainers agree, connects to them for training. */
async function joinServers({ config, options, env, plan, connections, emit }: ClusterJobOptions) {
  const { trainer_id: rank, num_gradient_servers: workerNum, seed } = options
  const { model } = config
  await connections.announce(model)
  const { servers, tableServers } = plan
  const cluster = namedCluster({ role: 'worker', rank, servers, workerNum, tableServers }, jobEnv(env))
  const program = { model, seed, segments: SEGMENTS }
  const worker = await ConnectedWorker.open({ cluster, program, strategy: SYNC, emit, signal: connections.lost })
  await connections.leave()
  return worker
}

/** Threads make a step together, as trainers do: each takes its share of the node's batch, and their batches are one of the node. */
async function openRuntime(worker: ConnectedWorker, { config, options, files, emit, signal }: ClusterJobOptions) {
  const { trainer_count: threads } = options
  const ofNode: EventSink = (event) =>
    emit(event.kind === 'batch' ? { ...event, batch: Math.floor(event.batch / threads) } : event)
  const job = jobConfig(config, options, Math.ceil(config.batchSize / threads))
  const input = { readers: readersOf({ config, options, files }) }
  return await worker.openRuntime({ config: job, files, input, emit: ofNode, signal, engine: 'ort' })
}

interface PassContext {
  readonly worker: ConnectedWorker
  readonly runtime: Awaited<ReturnType<typeof openRuntime>>
  /** Undefined: this node reads all of its files. */
  readonly part: Part | undefined
  readonly onReport: (report: StepReport) => void
  readonly given: ClusterJobOptions
}

async function runPass(
  { worker, runtime, part, onReport, given }: PassContext,
  phase: Phase,
  number: number,
): Promise<PassResult> {
  const { signal, options } = given
  const record = new PassRecord()
  const result = await runtime.pass(phase, number, {
    input: { part, onChunk: part && record.onChunk },
    hooks: {
      onReport: phase === 'train' ? onReport : undefined,
      sumUp: async (own) => {
        const reports = await worker.allGatherJson(`end of ${phase}`, record.report(own, signal.aborted), readReport)
        const sum = sumReports(reports)
        if (!sum.interrupted && part) checkSplit(`pass ${number}, ${phase}`, reports)
        return sum
      },
    },
  })
  return { ...result, lastBatch: Math.floor(result.lastBatch / options.trainer_count) }
}

/** Lists that are equal on all nodes are dealt out, others are each node's own; says which. */
async function agreeOnFiles(
  worker: ConnectedWorker,
  files: DataFiles,
  part: Part,
  emit: EventSink,
): Promise<Readonly<Partial<Record<Phase, Part>>>> {
  const own = { train: await fileReports(files.train), infer: await fileReports(files.infer) }
  const all = await worker.allGatherJson('comparing data files', own, readFileReports)
  const names = { train: 'train.list', infer: 'test.list' }
  const agreed = (Object.keys(files) as Phase[]).map((phase) => {
    if (part.count === 1) return [phase, undefined] as const
    const difference = firstDifference(all.map((lists) => lists[phase]))
    const count = own[phase].length
    const message = difference
      ? `${names[phase]}: the trainers have different files (${difference.file} of trainer[${difference.worker}]): each reads all of its own, trainer[${part.index}] has ${count}.`
      : count === 1
        ? `${names[phase]}: all ${part.count} trainers have the same file, which trainer[0] reads.`
        : `${names[phase]}: all ${part.count} trainers have the same ${count} files: they are dealt out, trainer[${part.index}] reads its part.`
    emit({ kind: 'notice', message })
    if (!difference && phase === 'train' && part.index >= count)
      emit({
        kind: 'warning',
        message: `${names[phase]}: trainer[${part.index}] has nothing to read, since there are ${count} files; cut them into at least ${part.count}.`,
      })
    return [phase, difference ? undefined : part] as const
  })
  return Object.fromEntries(agreed.filter(([, mine]) => mine !== undefined)) as Partial<Record<Phase, Part>>
}
