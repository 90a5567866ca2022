/** @file DistributedStrategy's a_sync_configs: each key with its default and what it does here. One table; docs/guide/fleet.md shows it. */
import { suggest, UserError } from '../../base/util/index.ts'
import { strategyError } from './errors.ts'

/** `a_sync_configs` of a DistributedStrategy, in camelCase. */
export interface ASyncConfigs {
  readonly kSteps: number
  readonly maxMergeVarNum: number
  readonly sendQueueSize: number
  readonly independentRecvThread: boolean
  readonly minSendGradNumBeforeRecv: number
  readonly threadPoolSize: number
  readonly sendWaitTimes: number
  readonly runtimeSplitSendRecv: boolean
  readonly launchBarrier: boolean
  readonly heterWorkerDeviceGuard: string
  readonly lrDecaySteps: number
  readonly usePsGpu: number
  readonly useGpuGraph: number
}

interface ASyncKey<V> {
  readonly value: V
  /** What it does, or why nothing. */
  readonly effect: string
}

export const A_SYNC_CONFIGS: { readonly [K in keyof ASyncConfigs]: ASyncKey<ASyncConfigs[K]> } = {
  kSteps: {
    value: -1,
    effect: '0: sync or async by aSync; above 0: geo with so many batches between two exchanges; -1: chosen by itself',
  },
  maxMergeVarNum: { value: 1, effect: 'none: gradients are not held back to be merged' },
  sendQueueSize: { value: 16, effect: 'none: a thread has few pushes under way' },
  independentRecvThread: { value: false, effect: 'none: sockets have a thread of their own in every mode' },
  minSendGradNumBeforeRecv: { value: 1, effect: 'none: dense weights come back with each push' },
  threadPoolSize: { value: 1, effect: 'none: one thread serves all connections of a process' },
  sendWaitTimes: { value: 1, effect: 'none: nothing waits to be merged' },
  runtimeSplitSendRecv: { value: false, effect: 'none: weights are cut over servers at run time' },
  launchBarrier: { value: true, effect: 'none: workers always wait for servers that are not up yet' },
  heterWorkerDeviceGuard: { value: 'cpu', effect: 'only cpu: heterogeneous training is not part of Oarfish' },
  lrDecaySteps: { value: 10, effect: 'none: schedules of learning rates run on the servers' },
  usePsGpu: { value: 0, effect: 'only 0: weights in GPU memory are for static_gpubox_trainer' },
  useGpuGraph: { value: 0, effect: 'only 0: graphs in GPU memory are not part of Oarfish' },
}

const KEYS = Object.keys(A_SYNC_CONFIGS) as (keyof ASyncConfigs)[]

/** Keys in Paddle's spelling or in ours, checked; what is not given keeps its value. */
export function checkASyncConfigs(given: Readonly<Record<string, unknown>>): Partial<ASyncConfigs> {
  return Object.fromEntries(
    Object.entries(given).map(([typed, value]) => {
      const key = keyOf(typed)
      checkValue(key, value)
      return [key, value]
    }),
  )
}

function keyOf(typed: string): keyof ASyncConfigs {
  const camel = typed.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const known = KEYS.find((key) => key === camel)
  if (known) return known
  const near = suggest(camel, KEYS)
  throw new UserError(`key:${typed} not in a_sync_configs`, {
    code: 'FLEET_STRATEGY',
    hint: near ? `did you mean ${near}?` : `the keys are ${KEYS.join(', ')}`,
  })
}

function checkValue(key: keyof ASyncConfigs, value: unknown): void {
  const { value: usual } = A_SYNC_CONFIGS[key]
  if (typeof value !== typeof usual || (typeof value === 'number' && !Number.isInteger(value)))
    throw strategyError(
      `a_sync_configs: ${key} is ${JSON.stringify(value)}, expected a ${typeof usual === 'number' ? 'whole number' : typeof usual}`,
      `${key}: ${A_SYNC_CONFIGS[key].effect}`,
    )
  const only = ONLY[key]
  if (only !== undefined && value !== only)
    throw strategyError(
      `a_sync_configs: ${key} ${JSON.stringify(value)} is not part of Fleet here`,
      A_SYNC_CONFIGS[key].effect,
    )
}

const ONLY: Partial<ASyncConfigs> = { heterWorkerDeviceGuard: 'cpu', usePsGpu: 0, useGpuGraph: 0 }
