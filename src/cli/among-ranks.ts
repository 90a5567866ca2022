/** @file Training and evaluation in this process alone, or together with the others that a launcher started beside it. */
import type { Group } from '../collective/index.ts'
import type { LoadedConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { InferOptions, TrainOptions } from '../train/index.ts'
import type { CliIo } from './io.ts'

type Io = Pick<CliIo, 'env'>

export async function trainHere(options: TrainOptions, io: Io): Promise<void> {
  const { train, trainRanks } = await import('../train/index.ts')
  await amongRanks(options, io, async (group, emit) => {
    if (!group) return train(options)
    const { DistributedStrategy } = await import('../fleet/index.ts')
    return trainRanks({ ...options, emit, group, strategy: new DistributedStrategy() })
  })
}

export async function inferHere(options: InferOptions, io: Io): Promise<void> {
  const { infer } = await import('../train/index.ts')
  await amongRanks(options, io, (group, emit) => infer({ ...options, emit, group }))
}

interface Told {
  readonly config: LoadedConfig
  readonly emit: EventSink
  readonly signal?: AbortSignal
}

/** Opens the group that the environment tells of, and closes it; undefined: this process was started alone, or is to work alone. */
async function amongRanks(
  { config: loaded, emit, signal }: Told,
  { env }: Io,
  work: (group: Group | undefined, emit: EventSink) => Promise<unknown>,
): Promise<void> {
  const { groupPlan, openGroup } = await import('../collective/index.ts')
  const { isWritten } = await import('../config/index.ts')
  const { use_fleet, collective } = loaded.config.runner
  const notice = (message: string) => emit({ kind: 'notice', message })
  const isSet = isWritten(loaded.source, ['runner', 'use_fleet'])
  const plan = use_fleet || !isSet ? groupPlan(env, collective) : ({ kind: 'alone' } as const)
  if (plan.kind === 'alone') {
    if (use_fleet) notice('runner.use_fleet: this process was started alone, and works alone.')
    await work(undefined, emit)
    return
  }
  if (!use_fleet) notice('Several processes were started: they work together (runner.use_fleet: True).')
  const group = await openGroup(plan, notice, signal).catch((error: unknown) => {
    if (signal?.aborted) return undefined
    throw error
  })
  if (!group) return // Ctrl+C before the others came
  try {
    // mpirun mixes what all ranks print: rank 0 speaks, the others only of what is wrong.
    const isQuiet = plan.kind === 'mpi' && group.rank > 0
    await work(group, (event) => {
      if (!isQuiet || event.kind === 'warning') emit(event)
    })
  } catch (error) {
    await group.close(error as Error).catch(() => undefined)
    throw error
  }
  await group.close()
}
