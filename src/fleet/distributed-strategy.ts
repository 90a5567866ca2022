/** @file DistributedStrategy of Paddle 2.x, its part for parameter servers: set by assignment, checked at once. */
import { sparseTableConfigs } from '../config/index.ts'
import type { PsMode } from '../ps/index.ts'
import type { TablesParameters } from '../table/index.ts'
import { A_SYNC_CONFIGS, type ASyncConfigs, checkASyncConfigs } from './a-sync-configs.ts'
import { strategyError } from './errors.ts'

/** When gradients travel: settled, or to be chosen when the program is known. */
export type StrategyPlan =
  | { readonly kind: 'mode'; readonly mode: PsMode; readonly geoStep: number }
  | { readonly kind: 'auto' }

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
