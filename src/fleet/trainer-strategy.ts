/** @file The strategies of Paddle's fleet 1.x: made by a factory, or meant by a DistributeTranspilerConfig. */
import type { PsMode } from '../ps/index.ts'
import { NO_GEO_STEP, type StrategyPlan } from './distributed-strategy.ts'
import { strategyError } from './errors.ts'

/** A strategy of fleet 1.x: plain data. */
export interface TrainerStrategy {
  readonly kind: 'mode'
  readonly mode: PsMode
  readonly geoStep: number
}

/** Paddle's StrategyFactory. */
export const StrategyFactory = {
  createSyncStrategy: (): TrainerStrategy => trainerStrategy('sync'),
  createAsyncStrategy: (): TrainerStrategy => trainerStrategy('async'),
  createHalfAsyncStrategy: (): TrainerStrategy => trainerStrategy('half_async'),
  /** Workers exchange what changed every `updateFrequency` batches. */
  createGeoStrategy: (updateFrequency = 100): TrainerStrategy => {
    if (Number.isInteger(updateFrequency) && updateFrequency > 0) return trainerStrategy('geo', updateFrequency)
    throw strategyError(
      `createGeoStrategy: update_frequency is ${JSON.stringify(updateFrequency)}, expected a whole number above 0`,
      'StrategyFactory.createGeoStrategy(100)',
    )
  },
} as const

function trainerStrategy(mode: PsMode, geoStep = NO_GEO_STEP): TrainerStrategy {
  return { kind: 'mode', mode, geoStep }
}

/** What a DistributeTranspilerConfig says of the mode. */
export interface TranspilerModes {
  readonly syncMode: boolean
  readonly runtimeSplitSendRecv: boolean
  readonly halfAsync: boolean
  readonly geoSgdMode: boolean
  readonly geoSgdNeedPushNums: number
}

/** As fleet 1.x reads it: neither sync nor split at run time is half_async. */
export function transpilerPlan(config: TranspilerModes): StrategyPlan {
  if (config.syncMode) return trainerStrategy('sync')
  if (!config.runtimeSplitSendRecv) return trainerStrategy('half_async')
  if (config.geoSgdMode) return StrategyFactory.createGeoStrategy(config.geoSgdNeedPushNums)
  return trainerStrategy(config.halfAsync ? 'half_async' : 'async')
}

export interface CommunicatorOptions {
  /** CPU_NUM, the trainer threads of a process. @default 1 */
  readonly cpuNum?: number
  /** The flags of the environment, FLAGS_communicator_... */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly onWarning?: (message: string) => void
}

/** The communicator settings that Paddle derives from a strategy, by name. Oarfish shows them; docs/parameter-server.md says what each does. */
export function communicatorFlags(
  { mode, geoStep }: TrainerStrategy,
  { cpuNum = 1, env = {}, onWarning = () => undefined }: CommunicatorOptions = {},
): Readonly<Record<string, string>> {
  const count = String(mode === 'geo' ? geoStep : cpuNum)
  const usual: Readonly<Record<string, string>> = {
    communicator_max_merge_var_num: count,
    communicator_send_queue_size: count,
    communicator_send_wait_times: '5',
    communicator_thread_pool_size: '5',
    ...(mode === 'async' && {
      communicator_independent_recv_thread: '1',
      communicator_min_send_grad_num_before_recv: count,
      communicator_is_sgd_optimizer: '1',
    }),
  }
  const together = mode === 'sync' || mode === 'half_async'
  return Object.fromEntries(
    Object.entries(usual).map(([name, value]) => {
      const given = env[`FLAGS_${name}`]
      if (given === undefined || given === value) return [name, value]
      if (!together || !FORCED.has(name)) return [name, given]
      onWarning(
        `WARNING: In sync or half_async mode, ${name} must be equal to CPU_NUM. ${name} will be forced to ${value}.`,
      )
      return [name, value]
    }),
  )
}

const FORCED: ReadonlySet<string> = new Set(['communicator_max_merge_var_num', 'communicator_send_queue_size'])
