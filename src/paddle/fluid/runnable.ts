/** @file Programs that are more than a graph say themselves how they run: those of a transpiler and those loaded from a file. And what any run returns. */

import type { EventSink } from '../../base/event/index.ts'
import type { TensorData, TensorView } from '../../graph/engine/index.ts'
import type { Executor } from './executor.ts'
import type { Feed } from './feed.ts'
import type { Variable } from './variable.ts'

/** A value that was fetched, with its shape. */
export type Fetched = TensorData & { readonly shape: readonly number[] }

/** A single number has the shape [1], as in fluid: `const [loss] = await exe.run(...)` and then `loss[0]`. */
export function fetchedArray({ data, dims }: TensorView): Fetched {
  return Object.assign(data, { shape: dims.length === 0 ? [1] : dims })
}

export interface RunContext {
  readonly executor: Executor
  readonly feed: Feed
  readonly fetchList: readonly Variable[]
  readonly emit: EventSink
}

export interface Runnable {
  readonly runnable: true
  run(context: RunContext): Promise<Fetched[]>
  /** When the Executor closes. */
  close?(): Promise<void>
}

export function isRunnable(what: object): what is Runnable {
  return (what as Partial<Runnable>).runnable === true
}
