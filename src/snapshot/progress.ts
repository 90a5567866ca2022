/** @file Progress of a large table, told now and then. */
import type { EventSink } from '../event/index.ts'

const INTERVAL_MS = 500

/** Tells how many of `ofRows` rows are done; tables done within half a second say nothing. */
export function tableProgress(
  emit: EventSink,
  what: 'save' | 'load',
  table: string,
  ofRows: number,
): (rows: number) => void {
  let told = performance.now()
  return (rows) => {
    const now = performance.now()
    if (now - told < INTERVAL_MS) return
    told = now
    emit({ kind: 'progress', what, table, rows, ofRows })
  }
}
