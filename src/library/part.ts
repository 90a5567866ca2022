/** @file Training and evaluation as the part that this process has in its job: alone, with servers, as a server, or among ranks, by its environment. */
import { availableParallelism } from 'node:os'
import { clusterFromEnv, type Env, isElastic, psFlags, selectedGpus } from '../base/env/index.ts'
import type { EventSink } from '../base/event/index.ts'
import { recordRun } from '../base/runs/index.ts'
import { UserError } from '../base/util/index.ts'
import type { Group } from '../training/collective/index.ts'
import type { InferOptions, InferResult, TrainOptions, TrainResult } from '../training/driver/index.ts'
import type { trainOnline } from '../training/online/index.ts'

/** Undefined: a server, which has no result, or the end came before the other processes did. */
export async function trainAsAsked(options: TrainOptions, env: Env): Promise<TrainResult | undefined> {
  const { config, emit, resume } = options
  return await recordRun({ config, env, emit, resume }, (recorded) => trainPart({ ...options, emit: recorded }, env))
}

async function trainPart(options: TrainOptions, env: Env): Promise<TrainResult | undefined> {
  if (options.config.config.runner.sync_mode === 'gpubox') return await trainOverPasses(options, env)
  const cluster = clusterFromEnv(env)
  if (cluster.role === 'local') return await trainHere(options, env)
  if (cluster.role === 'server') return await serveRows(options, env, true)
  const { withServers } = await import('../training/driver/index.ts')
  const train = await trainingOf(options)
  const process = { isFirst: cluster.rank === 0, job: cluster.jobId }
  return await train(options, withServers({ cluster, ...psFlags(env) }), process)
}

/** Over epochs, or over days. */
async function trainingOf({ config }: TrainOptions): Promise<typeof trainOnline> {
  const { start_day, watch, train_data_dir } = config.config.runner
  const isStream = watch || [train_data_dir ?? ''].flat().some((path) => path.startsWith('kafka://'))
  if (start_day === undefined && !isStream) return (await import('../training/driver/index.ts')).train
  return (await import('../training/online/index.ts')).trainOnline
}

/** As trainAsAsked. */
export async function evaluateAsAsked(options: InferOptions, env: Env): Promise<InferResult | undefined> {
  const cluster = clusterFromEnv(env)
  if (cluster.role === 'local') return await inferHere(options, env)
  if (cluster.role === 'server') return await serveRows(options, env, false)
  const { evaluateWithServers, infer } = await import('../training/driver/index.ts')
  return await infer(options, evaluateWithServers({ cluster, ...psFlags(env) }))
}

/** In this process alone, or among the ranks that a launcher started beside it. */
async function trainHere(options: TrainOptions, env: Env): Promise<TrainResult | undefined> {
  const { amongRanks } = await import('../training/driver/index.ts')
  const train = await trainingOf(options)
  return await withGroup(options, env, async (group, emit) => {
    if (!group) return await train(options)
    const { DistributedStrategy } = await import('../paddle/fleet/index.ts')
    const ranks = amongRanks(group, new DistributedStrategy())
    return await train({ ...options, emit }, ranks, { isFirst: group.rank === 0 })
  })
}

/** The GPU parameter server is one process, whatever was started beside it: it never joins a ring. */
async function trainOverPasses(options: TrainOptions, env: Env): Promise<TrainResult | undefined> {
  const { role, workerNum, endpoint } = clusterFromEnv(env)
  if (workerNum > 1) throw severalTrainers(workerNum)
  const { keepPort, overPasses } = await import('../training/driver/index.ts')
  const train = await trainingOf(options)
  if (role === 'server') return await keepPort({ ...options, endpoint })
  const listed = selectedGpus(env).length
  const devices = Math.min(Math.max(1, listed), availableParallelism())
  if (listed > 1) {
    const message = `FLAGS_selected_gpus lists ${listed} devices; ${devices === 1 ? 'one thread' : `${devices} threads`} of this host's CPU train in their place.`
    options.emit({ kind: 'notice', message })
  }
  return await train(options, overPasses({ devices }))
}

function severalTrainers(workers: number): UserError {
  return new UserError(
    `PADDLE_TRAINERS_NUM is ${workers}: with sync_mode gpubox one process trains, on all devices of its host.`,
    {
      code: 'GPUPS_TRAINERS',
      hint: 'Set PADDLE_TRAINERS=1 and list the devices in FLAGS_selected_gpus; for several hosts train with sync_mode: async.',
    },
  )
}

/** As trainHere. */
async function inferHere(options: InferOptions, env: Env): Promise<InferResult | undefined> {
  const { evaluateAmongRanks, infer } = await import('../training/driver/index.ts')
  return await withGroup(options, env, (group, emit) =>
    group ? infer({ ...options, emit }, evaluateAmongRanks(group)) : infer(options),
  )
}

/** Until the workers are done. A server that only evaluates holds all rows of a model, not those of training. */
async function serveRows({ config, mode, emit, signal }: TrainOptions, env: Env, trains: boolean): Promise<undefined> {
  const { runServer } = await import('../training/ps/index.ts')
  const own = trains ? { mode } : { rowsOnly: false }
  await runServer({ cluster: clusterFromEnv(env), config, ...own, ...psFlags(env), emit, signal })
}

/** Opens the group that the environment describes, and closes it; undefined: this process was started alone, or is to work alone. */
async function withGroup<Result>(
  { config: loaded, emit, signal }: TrainOptions | InferOptions,
  env: Env,
  work: (group: Group | undefined, emit: EventSink) => Promise<Result>,
): Promise<Result | undefined> {
  const { groupPlan, openGroup } = await import('../training/collective/index.ts')
  const { isWritten } = await import('../base/config/index.ts')
  const { use_fleet, collective } = loaded.config.runner
  const notice = (message: string) => emit({ kind: 'notice', message })
  const isSet = isWritten(loaded.source, ['runner', 'use_fleet'])
  const plan = use_fleet || !isSet ? groupPlan(env, collective, loaded.config.runner) : ({ kind: 'alone' } as const)
  // One rank of a job whose hosts come and go has its place among the ranks that there will be.
  if (plan.kind === 'alone' && !isElastic(env)) {
    if (use_fleet) notice('runner.use_fleet: this process was started alone, and works alone.')
    return await work(undefined, emit)
  }
  if (plan.kind === 'ring' && plan.warning) emit({ kind: 'warning', message: plan.warning })
  if (!use_fleet) notice('Several processes were started: they work together (runner.use_fleet: True).')
  const group = await openGroup(plan, notice, signal).catch((error: unknown) => {
    if (signal?.aborted) return undefined
    throw error
  })
  if (!group) return undefined // stopped before the others came
  let result: Result
  try {
    // mpirun mixes what all ranks print: rank 0 speaks, the others only of what is wrong.
    const isQuiet = plan.kind === 'mpi' && group.rank > 0
    result = await work(group, (event) => {
      if (!isQuiet || event.kind === 'warning') emit(event)
    })
  } catch (error) {
    await group.close(error as Error).catch(() => undefined)
    throw error
  }
  await group.close()
  return result
}
