/** @file The processes of a job as a table on a terminal: how far each is, how fast, how stale, how large, how much it waits. Pure. */
import {
  clockText,
  countText,
  type EventOf,
  metricText,
  rateText,
  remainingSeconds,
  type View,
} from '../../base/event/index.ts'
import { sizeText } from '../../base/util/index.ts'

export interface Row {
  readonly process?: EventOf<'process'>
  readonly line?: string
  readonly view?: View
}

interface Column {
  readonly title: string
  /** Columns of the highest rank give way first when the terminal is narrow. */
  readonly rank: number
  readonly isNumber: boolean
  readonly of: (process: EventOf<'process'>, view: View | undefined, nowMs: number) => string
}

const text = (title: string, rank: number, of: Column['of']): Column => ({ title, rank, isNumber: false, of })
const number = (title: string, rank: number, of: (view: View, nowMs: number) => string | undefined): Column => ({
  title,
  rank,
  isNumber: true,
  of: (process, view, nowMs) => (view && process.state === 'running' ? (of(view, nowMs) ?? '') : ''),
})
const ofBatch = (title: string, rank: number, of: (batch: EventOf<'batch'>) => string | undefined): Column =>
  number(title, rank, ({ batch, last = batch }) => last && of(last))

/** Of a server: steps that it has applied, and the rows that it holds. */
const COLUMNS: readonly Column[] = [
  text('host', 3, ({ host = '' }) => host.replace(/^.*@/, '')),
  text('process', 0, ({ role, rank }) => `${role} ${rank}`),
  text('state', 1, ({ state }) => state),
  ofBatch('epoch', 11, ({ epoch }) => String(epoch)),
  ofBatch('done', 5, ({ fraction }) => `${Math.floor(100 * fraction)}%`),
  number('step', 2, ({ batch, last = batch, tables }) => stepText(last ? last.batch + 1 : tables?.step)),
  ofBatch('samples/s', 1, ({ samplesPerSecond }) => rateText(samplesPerSecond).replace('/s', '')),
  ofBatch('stale', 4, ({ staleness }) => staleness?.toFixed(1)),
  number('memory', 4, ({ memory }) => (memory === undefined ? undefined : sizeText(memory))),
  ofBatch('wait', 4, ({ readerSecondsPerBatch, secondsPerBatch }) =>
    secondsPerBatch > 0 ? `${Math.round((100 * readerSecondsPerBatch) / secondsPerBatch)}%` : undefined,
  ),
  ofBatch('loss', 6, ({ metrics: { loss } }) => (loss !== undefined ? metricText(loss) : undefined)),
  ofBatch('auc', 7, ({ metrics: { auc } }) => (auc !== undefined ? metricText(auc) : undefined)),
  number(
    'rows',
    9,
    ({ tables }) => tables && countText(tables.tables.reduce((sum, own) => sum + own.memoryRows + own.diskRows, 0)),
  ),
  number('sent', 10, ({ batch, last = batch }) => trafficText(last, 'sentBytesPerSecond')),
  number('received', 10, ({ batch, last = batch }) => trafficText(last, 'receivedBytesPerSecond')),
  number('ETA', 8, (view, nowMs) => etaText(remainingSeconds(view, nowMs))),
]

const stepText = (step: number | undefined) => (step === undefined ? undefined : countText(step))
const etaText = (seconds: number | undefined) => (seconds === undefined ? undefined : clockText(seconds))
const trafficText = (batch: EventOf<'batch'> | undefined, key: 'sentBytesPerSecond' | 'receivedBytesPerSecond') =>
  batch?.links && `${sizeText(batch.links.reduce((sum, link) => sum + link[key], 0))}/s`

const BETWEEN = '  '

/** A line of titles and one of each process, none wider than the terminal; undefined where there is nothing to tell yet. */
export function processTable(rows: readonly Row[], width: number, nowMs: number): readonly string[] | undefined {
  const known = rows.filter((row) => row.process !== undefined)
  if (known.length < rows.length || !known.some(({ view }) => view)) return undefined
  const cells = COLUMNS.map((column) => known.map(({ process, view }) => column.of(process!, view, nowMs)))
  const filled = COLUMNS.map((column, i) => ({ ...column, cells: cells[i]! })).filter((own) => own.cells.some(Boolean))
  const shown = fitting(filled, width)
  return ['', ...known].map((_, i) => lineOf(shown, i - 1).slice(0, width))
}

type Filled = Column & { readonly cells: readonly string[] }

const widthOf = ({ title, cells }: Filled) => Math.max(title.length, ...cells.map(({ length }) => length))

function fitting(columns: readonly Filled[], width: number): readonly Filled[] {
  const used = columns.reduce((sum, column) => sum + widthOf(column) + BETWEEN.length, -BETWEEN.length)
  const highest = Math.max(...columns.map(({ rank }) => rank))
  return used <= width || columns.length <= 2
    ? columns
    : fitting(
        columns.filter(({ rank }) => rank !== highest),
        width,
      )
}

/** -1 is the line of titles. */
function lineOf(columns: readonly Filled[], row: number): string {
  return columns
    .map((column) => {
      const cell = row < 0 ? column.title : column.cells[row]!
      return column.isNumber ? cell.padStart(widthOf(column)) : cell.padEnd(widthOf(column))
    })
    .join(BETWEEN)
    .trimEnd()
}
