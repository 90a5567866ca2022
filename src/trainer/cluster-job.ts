/** @file A trainer of a job with servers: every step is made by all trainers together, node 0 loads and saves. */

import type { Part } from '../data/index.ts'
import { type Env, namedCluster } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { ConnectedWorker, together } from '../fleet/index.ts'
import {
  type ChunksRead,
  checkSplit,
  type DataFiles,
  fileReports,
  firstDifference,
  mergeMeters,
  type PassResult,
  type PlainMeter,
  plainMeter,
  type StepReport,
} from '../train/index.ts'
import type { ServerPlan } from './endpoints.ts'
import {
  type JobOptions,
  jobConfig,
  loadPass,
  PASS_OPTIONS,
  type PassOptions,
  readersOf,
  savePass,
  type TrainerJob,
} from './job.ts'
import { jobEnv } from './set-up.ts'
import type { ServerCalls } from './tell-servers.ts'

/** How trainers and servers of v1 work together. */
export const SYNC = { mode: 'sync', geoStep: 1, tableParameters: {} } as const
/** Memory segments of a table. */
export const SEGMENTS = 4

type Phase = 'train' | 'infer'

export interface ClusterJobOptions extends JobOptions {
  readonly env: Env
  readonly plan: ServerPlan
  readonly calls: ServerCalls
}

export async function openClusterJob(given: ClusterJobOptions): Promise<TrainerJob> {
  const { config, options, files, emit, signal, onStep, env, plan, calls } = given
  const { trainer_id: rank, num_gradient_servers: workerNum, trainer_count: threads } = options
  const { model } = config
  const { servers, tableServers } = plan
  await calls.tell(model)
  const tables = tableServers !== undefined && { tableServers }
  const cluster = namedCluster({ role: 'worker', rank, servers, workerNum, ...tables }, jobEnv(env))
  const program = { model, seed: options.seed, segments: SEGMENTS }
  const worker = await ConnectedWorker.open({ cluster, program, strategy: SYNC, emit, signal: calls.lost })
  await calls.leave()
  try {
    const own = Object.fromEntries(PASS_OPTIONS.map((name) => [name, options[name]])) as PassOptions
    // Only node 0 need be told where to save; others would go on while it waits for them.
    const [first = own] = await worker.meet('options of node 0', own)
    const parts = await agreeOnFiles(worker, files, { index: rank, count: workerNum }, emit)
    // Threads make a step together, as trainers do: each takes its share of the node's batch.
    const job = jobConfig(config, options, Math.ceil(config.batchSize / threads))
    // The batches of its threads are one of the node, in lines and dots too.
    const ofNode: EventSink = (event) =>
      emit(event.kind === 'batch' ? { ...event, batch: Math.floor(event.batch / threads) } : event)
    let reports = 0
    const onReport = (report: StepReport) => {
      if (++reports % threads === 0) onStep?.(report)
    }
    const runtime = await worker.openRuntime({
      ...{ config: job, files, emit: ofNode, signal, engine: 'ort', readers: readersOf({ config, options, files }) },
    })
    const pass = async (phase: Phase, number: number): Promise<PassResult> => {
      const part = parts[phase]
      const read = { chunks: [] as number[], of: 0 }
      const onChunk = (place: number, of: number) => {
        read.chunks.push(place)
        read.of = of
      }
      let stopped = false
      const result = await runtime.pass(phase, number, {
        ...(part && { part, onChunk }),
        ...(phase === 'train' && { onReport }),
        together: async (own) => {
          const all = await worker.meet<Measured>(`end of ${phase}`, {
            meter: plainMeter(own),
            stopped: signal.aborted,
            read,
          })
          stopped = all.some((one) => one.stopped)
          if (!stopped && part)
            checkSplit(
              `pass ${number}, ${phase}`,
              all.map((one) => one.read),
            )
          return mergeMeters(all.map(({ meter }) => meter))
        },
      })
      return { ...result, lastBatch: Math.floor(result.lastBatch / threads), interrupted: stopped }
    }
    const alone = { worker, rank }
    return {
      options: first,
      tests: files.infer !== undefined,
      pass,
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
        await worker.meet('end of the job', null)
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

interface Measured {
  readonly meter: PlainMeter
  readonly stopped: boolean
  readonly read: ChunksRead
}

/** Lists that are equal on all nodes are dealt out, others are each node's own; says which. */
async function agreeOnFiles(
  worker: ConnectedWorker,
  files: DataFiles,
  part: Part,
  emit: EventSink,
): Promise<Readonly<Partial<Record<Phase, Part>>>> {
  const own = { train: await fileReports(files.train), infer: await fileReports(files.infer) }
  const all = await worker.meet('comparing data files', own)
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
