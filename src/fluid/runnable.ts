/** @file Programs that are more than a graph: those of a transpiler and those loaded from a file say themselves how they run. */
import type { EventSink } from '../event/index.ts'
import type { Executor } from './executor.ts'
import type { Feed } from './feed.ts'
import type { Fetched } from './fetched.ts'
import type { Variable } from './variable.ts'

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

export function isRunnable(what: unknown): what is Runnable {
  return typeof what === 'object' && what !== null && 'runnable' in what
}
