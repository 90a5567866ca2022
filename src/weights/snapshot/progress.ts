/** @file Progress of a large table, reported now and then. */
import type { EventSink } from '../../base/event/index.ts'

const INTERVAL_MS = 500

/** Reports how many of `ofRows` rows are done; tables done within half a second say nothing. */
export function tableProgress(
  emit: EventSink,
  what: 'save' | 'load',
  table: string,
  ofRows: number,
): (rows: number) => void {
  let reported = performance.now()
  return (rows) => {
    const now = performance.now()
    if (now - reported < INTERVAL_MS) return
    reported = now
    emit({ kind: 'progress', what, table, rows, ofRows })
  }
}
