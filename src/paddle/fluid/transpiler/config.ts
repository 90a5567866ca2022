/** @file DistributeTranspilerConfig: how weights are cut and dealt out, and how trainers work together. */
import type { PsMode } from '../../../training/ps/index.ts'
import { transpilerError } from './errors.ts'

/** How tables are split over servers. */
export const SPLIT_METHODS = ['RoundRobin', 'HashName'] as const
/** One of SPLIT_METHODS. */
export type SplitMethod = (typeof SPLIT_METHODS)[number]

/** Weights below so many elements stay whole; Paddle's floor. */
const SMALLEST_BLOCK = 8192

/** Settings of DistributeTranspiler. */
export class DistributeTranspilerConfig {
  /** Large weights are cut into blocks that several servers hold. */
  sliceVarUp = true
  splitMethod: SplitMethod = 'RoundRobin'
  /** Elements of a block, at least 8192. */
  minBlockSize = SMALLEST_BLOCK
  /** Kept for fluid's sake. */
  enableDcAsgd = false
  mode: 'pserver' | 'nccl2' | 'collective' = 'pserver'
  /** The transpiled programs are printed. */
  printLog = false
  /** getTrainerProgram waits for the servers. */
  waitPort = true
  halfAsync = false
  completelyNotAsync = false
  geoSgdMode = false
  /** Batches between two exchanges of geo. */
  geoSgdNeedPushNums = 100
  #syncMode = true
  #runtimeSplitSendRecv = false

  get syncMode(): boolean {
    return this.#syncMode
  }

  set syncMode(value: boolean) {
    this.#syncMode = checkSwitch('syncMode', value, 'runtimeSplitSendRecv', this.#runtimeSplitSendRecv)
  }

  get runtimeSplitSendRecv(): boolean {
    return this.#runtimeSplitSendRecv
  }

  set runtimeSplitSendRecv(value: boolean) {
    this.#runtimeSplitSendRecv = checkSwitch('runtimeSplitSendRecv', value, 'syncMode', this.#syncMode)
  }
}

/** Checks what cannot be transpiled. */
export function checkConfig({ minBlockSize, mode, splitMethod, geoSgdNeedPushNums }: DistributeTranspilerConfig): void {
  if (!(minBlockSize >= SMALLEST_BLOCK))
    throw transpilerError(
      `min_block_size is ${minBlockSize}; blocks below ${SMALLEST_BLOCK} elements cost more to send than they spread`,
      `config.minBlockSize = ${SMALLEST_BLOCK}`,
    )
  if (mode !== 'pserver')
    throw transpilerError(
      `mode "${mode}" has no servers`,
      "config.mode = 'pserver', or train with fleet's collective mode",
    )
  if (!SPLIT_METHODS.includes(splitMethod))
    throw transpilerError(`splitMethod "${splitMethod}" does not exist`, `use one of ${SPLIT_METHODS.join(', ')}`)
  if (!Number.isInteger(geoSgdNeedPushNums) || geoSgdNeedPushNums < 1)
    throw transpilerError(`geoSgdNeedPushNums is ${geoSgdNeedPushNums}`, 'give it a whole number above 0')
}

/**
 * How the trainers work together. The original has a switch on the trainers (the argument) and one on the servers (the
 * config) that may disagree; here both sides do the same, and whichever says "not sync" wins.
 */
export function modeOf(config: DistributeTranspilerConfig, syncMode: boolean): PsMode {
  if (config.geoSgdMode) return 'geo'
  if ((syncMode && config.syncMode) || config.completelyNotAsync) return 'sync'
  if (config.runtimeSplitSendRecv) return config.halfAsync ? 'half_async' : 'async'
  return config.syncMode ? 'async' : 'half_async'
}

/** Of the two switches only one may be on. */
function checkSwitch(name: string, value: boolean, other: string, otherIsOn: boolean): boolean {
  if (typeof value !== 'boolean') throw transpilerError(`${name} is ${String(value)}`, `config.${name} = true or false`)
  if (value && otherIsOn)
    throw transpilerError(
      `${name} does not go with ${other}, which is on`,
      `config.${other} = false; config.${name} = true`,
    )
  return value
}
