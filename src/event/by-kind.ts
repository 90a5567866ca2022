/** @file A table with one handler an event kind, so that a new kind does not compile until every printer has decided about it. */
import type { Event, EventKind, EventOf } from './event.ts'

export type ByKind<R> = { readonly [K in EventKind]: (event: EventOf<K>) => R }

export function byKind<R>(table: ByKind<R>, event: Event): R {
  return (table[event.kind] as (event: Event) => R)(event)
}
