/** @file Strategies as programs write them: DistributedStrategy of Paddle 2.x (its part for parameter servers), those of fleet 1.x's factory, and what a DistributeTranspilerConfig means. */
import { sparseTableConfigs } from '../../base/config/index.ts'
import { defined } from '../../base/util/index.ts'
import type { PsMode } from '../../training/ps/index.ts'
import type { TablesParameters } from '../../weights/table/index.ts'
import { A_SYNC_CONFIGS, type ASyncConfigs, checkASyncConfigs } from './a-sync-configs.ts'
import { strategyError } from './errors.ts'

/** When gradients travel: settled, or to be chosen when the program is known. */
export type StrategyPlan =
  | { readonly kind: 'mode'; readonly mode: PsMode; readonly geoStep: number }
  | { readonly kind: 'auto' }

/** Options of DistributedStrategy. */
export interface DistributedStrategyOptions {
  readonly aSync?: boolean
  readonly aSyncConfigs?: Partial<ASyncConfigs>
}

/** Batches between two exchanges, where geo is not the mode and nobody asks. */
export const NO_GEO_STEP = 100

const DEFAULTS = Object.fromEntries(
  Object.entries(A_SYNC_CONFIGS).map(([key, { value }]) => [key, value]),
) as unknown as ASyncConfigs

/**
 * How a job trains: synchronous, asynchronous or geo, and their settings.
 *
 * @example
 * const strategy = new DistributedStrategy()
 * strategy.aSync = true
 * strategy.aSyncConfigs = { kSteps: 100 } // geo
 */
export class DistributedStrategy {
  #aSync = true
  #configs: ASyncConfigs = DEFAULTS
  #tables: TablesParameters = {}

  constructor({ aSync, aSyncConfigs }: DistributedStrategyOptions = {}) {
    if (aSync !== undefined) this.aSync = aSync
    if (aSyncConfigs !== undefined) this.aSyncConfigs = aSyncConfigs
  }

  get aSync(): boolean {
    return this.#aSync
  }

  /** Whichever is set, kSteps becomes 0: the mode is no longer chosen by itself. */
  set aSync(flag: boolean) {
    if (typeof flag !== 'boolean')
      throw strategyError(
        `The type of \`flag\` is invalid, expected type is bool, but received ${typeof flag}`,
        'strategy.aSync = true for async, false for sync',
      )
    this.#aSync = flag
    this.#configs = { ...this.#configs, kSteps: 0 }
  }

  get aSyncConfigs(): ASyncConfigs {
    return this.#configs
  }

  /** Keys that are not given keep their values. */
  set aSyncConfigs(configs: Partial<ASyncConfigs>) {
    this.#configs = { ...this.#configs, ...checkASyncConfigs(configs as Readonly<Record<string, unknown>>) }
  }

  /** Accessors and other settings of tables, by name. */
  get sparseTableConfigs(): TablesParameters {
    return this.#tables
  }

  /** By table, as a yaml's table_parameters or flat: `{ embedding: { 'table_parameters.embedding.shard_num': 10 } }`. */
  set sparseTableConfigs(configs: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
    this.#tables = sparseTableConfigs(configs)
  }

  get plan(): StrategyPlan {
    const { kSteps } = this.#configs
    const settled = (mode: PsMode, geoStep = NO_GEO_STEP): StrategyPlan => ({ kind: 'mode', mode, geoStep })
    if (kSteps === 0) return settled(this.#aSync ? 'async' : 'sync')
    if (kSteps > 0 && this.#aSync) return settled('geo', kSteps)
    if (kSteps === -1 && this.#aSync) return { kind: 'auto' }
    throw strategyError(
      `a_sync is ${pythonBool(this.#aSync)} and k_steps ${kSteps}, which is no mode`,
      'sync: aSync = false; async: aSync = true; geo: aSync = true and aSyncConfigs = { kSteps: 100 }',
    )
  }
}

function pythonBool(flag: boolean): string {
  return flag ? 'True' : 'False'
}

/** A strategy of fleet 1.x: plain data. */
export type TrainerStrategy = Extract<StrategyPlan, { kind: 'mode' }>

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
  readonly kind?: undefined
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

/** The communicator settings that Paddle derives from a strategy, by name. Oarfish shows them; docs/guide/parameter-server.md says what each does. */
export function communicatorFlags(
  { mode, geoStep }: TrainerStrategy,
  { cpuNum = 1, env = {}, onWarning = () => undefined }: CommunicatorOptions = {},
): Readonly<Record<string, string>> {
  const count = String(mode === 'geo' ? geoStep : cpuNum)
  const ifAsync = (value: string) => (mode === 'async' ? value : undefined)
  const usual = defined({
    communicator_max_merge_var_num: count,
    communicator_send_queue_size: count,
    communicator_send_wait_times: '5',
    communicator_thread_pool_size: '5',
    communicator_independent_recv_thread: ifAsync('1'),
    communicator_min_send_grad_num_before_recv: ifAsync(count),
    communicator_is_sgd_optimizer: ifAsync('1'),
  })
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
