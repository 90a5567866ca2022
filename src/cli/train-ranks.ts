/** @file Training in this process alone, or in step with the others that a launcher started beside it. */
import type { TrainOptions } from '../train/index.ts'
import type { CliIo } from './io.ts'

export async function trainHere(options: TrainOptions, { env }: Pick<CliIo, 'env'>): Promise<void> {
  const { train, trainRanks } = await import('../train/index.ts')
  const { groupPlan, openGroup } = await import('../collective/index.ts')
  const { isWritten } = await import('../config/index.ts')
  const { config: loaded, emit } = options
  const { use_fleet, collective } = loaded.config.runner
  const notice = (message: string) => emit({ kind: 'notice', message })
  const isSet = isWritten(loaded.source, ['runner', 'use_fleet'])
  const plan = use_fleet || !isSet ? groupPlan(env, collective) : ({ kind: 'alone' } as const)
  if (plan.kind === 'alone') {
    if (use_fleet) notice('runner.use_fleet: this process was started alone, and trains alone.')
    await train(options)
    return
  }
  if (!use_fleet) notice('Several processes were started: they train one model together (runner.use_fleet: True).')
  const group = await openGroup(plan, notice)
  try {
    const { DistributedStrategy } = await import('../fleet/index.ts')
    // mpirun mixes what all ranks print: rank 0 speaks, the others only of what is wrong.
    const isQuiet = plan.kind === 'mpi' && group.rank > 0
    const own: TrainOptions['emit'] = (event) => {
      if (!isQuiet || event.kind === 'warning') emit(event)
    }
    await trainRanks({ ...options, emit: own, group, strategy: new DistributedStrategy() })
  } catch (error) {
    await group.close(error as Error).catch(() => undefined)
    throw error
  }
  await group.close()
}
