/** @file A trainer thread's hold on its parameters, wherever they live, and what differs for the thread. */
import { type DenseLayout, LocalParams, type Params } from '../params/index.ts'
import { openRemoteParams } from '../ps/index.ts'
import type { StepSeconds } from './host-step.ts'
import type { ThreadSettings } from './messages.ts'

export interface ThreadParams {
  readonly params: Params
  readonly layout: DenseLayout
  readonly placement?: { readonly servers: number; readonly shards: number }
  /** Batches prepared while one is computed. */
  readonly pullsAhead: number
  /** Takes part in a step without samples. */
  skip(): void | Promise<void>
  /** Where the time went, in parts that do not overlap; starts anew. */
  breakdown(seconds: StepSeconds): Record<string, number>
}

export function openThreadParams({ params, thread }: ThreadSettings): ThreadParams {
  if ('kind' in params) {
    const remote = openRemoteParams(params)
    const { layout, placement, pullsAhead } = params
    return {
      params: remote,
      layout,
      placement,
      pullsAhead,
      skip: () => remote.skip(),
      breakdown: (all) => ({ ...all }),
    }
  }
  const local = new LocalParams(params, thread)
  return {
    params: local,
    layout: local.dense.layout,
    pullsAhead: 0,
    skip: () => undefined,
    breakdown(seconds) {
      // Dense weights are taken out of lookup and update.
      const { pull, push } = local.denseSeconds
      Object.assign(local.denseSeconds, { pull: 0, push: 0 })
      return { ...seconds, lookup: seconds.lookup - pull, update: seconds.update - push, dense: pull + push }
    },
  }
}
