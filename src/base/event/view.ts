/** @file What a person watching a run needs to know now, as a pure fold over its events. */
import type { Event, EventOf } from './event.ts'

export interface View {
  /** Epochs the run will take, where the configuration says so. */
  readonly epochs: number | undefined
  /** When training began and with which epoch. */
  readonly begin: { readonly atMs: number; readonly epoch: number } | undefined
  /** The newest batch of the phase under way. */
  readonly batch: EventOf<'batch'> | undefined
  /** The newest of any phase. */
  readonly last?: EventOf<'batch'> | undefined
  /** A table that is being saved or loaded. */
  readonly table?: EventOf<'progress'> | undefined
  /** When the first of its rows were done, and how many. */
  readonly tableBegin?: { readonly atMs: number; readonly rows: number } | undefined
  /** The tables of this process. */
  readonly tables?: EventOf<'tables'> | undefined
  /** Of this process, in bytes; where somebody else looks. */
  readonly memory?: number | undefined
  /** The run was asked to stop before its end. */
  readonly interrupted: boolean
}

export const EMPTY_VIEW: View = { epochs: undefined, begin: undefined, batch: undefined, interrupted: false }

/** The view after one more event that arrived at `nowMs`. */
export function foldView(view: View, event: Event, nowMs: number): View {
  if (event.kind === 'start') {
    const epochs = event.settings['runner.epochs']
    return { ...EMPTY_VIEW, epochs: typeof epochs === 'number' ? epochs : undefined }
  }
  if (event.kind === 'epochStart') return { ...view, begin: view.begin ?? { atMs: nowMs, epoch: event.epoch } }
  if (event.kind === 'tables') return { ...view, tables: event }
  if (event.kind === 'progress') {
    const isSame = view.table?.table === event.table && view.table.what === event.what
    return { ...view, table: event, tableBegin: isSame ? view.tableBegin : { atMs: nowMs, rows: event.rows } }
  }
  if (event.kind === 'saved' || event.kind === 'loaded') return { ...view, table: undefined }
  if (event.kind === 'batch') return { ...view, table: undefined, batch: event, last: event }
  if (!ENDS_PHASE.has(event.kind)) return view
  const interrupted = view.interrupted || event.kind === 'interrupted'
  return { ...view, table: undefined, batch: undefined, interrupted }
}

const ENDS_PHASE: ReadonlySet<Event['kind']> = new Set(['epoch', 'interrupted', 'error', 'done'])

/** Seconds until the last epoch's training ends, at the pace so far; evaluation counts as part of the pace. */
export function remainingSeconds({ epochs, begin, batch }: View, nowMs: number): number | undefined {
  if (!begin || !batch || epochs === undefined) return undefined
  const done = batch.epoch - begin.epoch + (batch.phase === 'train' ? batch.fraction : 1)
  const left = epochs - begin.epoch - done
  return done > 0 && left >= 0 ? ((nowMs - begin.atMs) / 1000 / done) * left : undefined
}
