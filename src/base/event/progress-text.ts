/** @file The words and the bar of a run on a terminal, as pure functions of events and view. */
import { type ByKind, byKind, type Event, type EventOf, type Metrics } from './event.ts'
import { summaryLines } from './summary.ts'
import {
  clockText,
  countText,
  forecastLines,
  metricText,
  passText,
  processText,
  rateText,
  rowsText,
  sliceLines,
} from './text.ts'
import { remainingSeconds, type View } from './view.ts'

export interface ProgressStyle {
  readonly color: boolean
  /** Whether the terminal shows characters beyond ASCII. */
  readonly unicode: boolean
}

const COLORS = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const
type Color = keyof typeof COLORS
const GLYPHS = { true: ['━', '─'], false: ['#', '.'] } as const
const BAR_WIDTH = { min: 6, max: 30 }

/** The line that is redrawn in place, at most `width` columns wide; undefined when there is nothing under way. */
export function progressLine(view: View, nowMs: number, width: number, style: ProgressStyle): string | undefined {
  if (view.table) return tableLine(view.table, paceText(view, nowMs), width, style)
  if (!view.batch) return undefined
  const parts = partsOf(view, view.batch, nowMs, 4)
  // A narrow terminal costs first a digit of each metric, then whole parts.
  const shown = lengthOf(parts) <= width ? parts : dropToFit(partsOf(view, view.batch, nowMs, 3), width)
  const used = lengthOf(shown)
  if (used > width) return undefined
  const cells = Math.min(BAR_WIDTH.max, width - used - 1)
  const texts = shown.map(({ text }) => text)
  const place = shown.findIndex(({ rank }) => rank === PERCENT_RANK)
  if (cells < BAR_WIDTH.min || place < 0) return texts.join(' ')
  return [...texts.slice(0, place), bar(view.batch.fraction, cells, style), ...texts.slice(place)].join(' ')
}

/** A table on its way to or from the disk. */
function tableLine(
  { what, table, rows, ofRows }: EventOf<'progress'>,
  pace: readonly string[],
  width: number,
  style: ProgressStyle,
): string | undefined {
  const fraction = rows / Math.max(1, ofRows)
  const counts = `${countText(rows)} of ${countText(ofRows)} rows`
  const [name, percent] = [`${what === 'save' ? 'saving' : 'loading'} ${table}`, `${Math.floor(fraction * 100)}%`]
  // A narrow terminal costs rate and time first, then everything but the share.
  const texts = [[name, percent, counts, ...pace], [name, percent, counts], [percent]].find(
    (some) => some.join(' ').length <= width,
  )
  if (!texts || texts.length === 1) return texts?.[0]
  const cells = Math.min(BAR_WIDTH.max, width - texts.join(' ').length - 1)
  if (cells < BAR_WIDTH.min) return texts.join(' ')
  return [name, bar(fraction, cells, style), ...texts.slice(1)].join(' ')
}

/** Rows a second and the time that the rest will take, once there is something to tell it by. */
function paceText({ table, tableBegin }: View, nowMs: number): readonly string[] {
  if (!table || !tableBegin || table.rows <= tableBegin.rows || nowMs <= tableBegin.atMs) return []
  const perSecond = (1000 * (table.rows - tableBegin.rows)) / (nowMs - tableBegin.atMs)
  return [rateText(perSecond), `ETA ${clockText((table.ofRows - table.rows) / perSecond)}`]
}

/** The text an event leaves above the bar, or undefined when it only moves the bar. */
export function keptText(event: Event, view: View, style: ProgressStyle): string | undefined {
  const paint = (color: Color, text: string) => painted(style, color, text)
  const texts: ByKind<string | undefined> = {
    start: (start) => `${paint('bold', `${start.command} ${start.model}`)}${paint('dim', startDetails(start))}`,
    table: () => undefined,
    ready: () => undefined,
    epochStart: () => undefined,
    batch: () => undefined,
    epoch: (epoch) =>
      `${paint('cyan', `${epoch.phase === 'train' ? 'epoch' : 'test '} ${epochText(view, epoch.epoch)}`)}  ${[totals(epoch), ...sliceLines(epoch)].join('\n  ')}`,
    saved: ({ path }) => `saved ${path}`,
    loaded: ({ path }) => `loaded ${path}`,
    progress: () => undefined,
    forecast: (forecast) => forecastLines(forecast).join('\n'),
    passBegin: () => undefined,
    passEnd: (end) => passText(end),
    rows: (rows) => rowsText(rows),
    tables: () => undefined,
    published: () => undefined, // the lines of PaddleRec around it say so
    stream: () => undefined, // looked at often: a pass says it
    process: (process) => processText(process),
    output: ({ line, echo }) => (echo ? line : undefined),
    notice: ({ message }) => message,
    warning: ({ message }) => `${paint('yellow', 'warning:')} ${message}`,
    interrupted: ({ epoch, batch, samples, path }) =>
      paint('yellow', `stopped in epoch ${epoch + 1} after batch ${batch} (${countText(samples)} samples)`) +
      (path === undefined ? '' : `\nsaved ${path}; the same command with --resume goes on from there`),
    error: ({ message, where, hint }) =>
      `${paint('red', 'error:')} ${where ? `${where} ` : ''}${message}${hint ? `\n  ${hint.replaceAll('\n', '\n  ')}` : ''}`,
    done: (done) => `${view.interrupted ? 'so far' : paint('green', 'done')}  ${totals(done)}${doneDetails(done)}`,
  }
  return byKind(texts, event)
}

interface Part {
  /** Parts of the highest rank give way first when the terminal is narrow. */
  readonly rank: number
  readonly text: string
}

const PERCENT_RANK = 1

/** The parts in the order they are shown. */
function partsOf(view: View, batch: EventOf<'batch'>, nowMs: number, digits: number): readonly Part[] {
  const eta = remainingSeconds(view, nowMs)
  // Beside the loss, what most models are judged by.
  const second = 'auc' in batch.metrics ? 'auc' : Object.keys(batch.metrics)[1]
  return [
    { rank: 6, text: batch.phase === 'train' ? 'epoch' : 'test' },
    { rank: 0, text: epochText(view, batch.epoch) },
    { rank: PERCENT_RANK, text: `${Math.floor(batch.fraction * 100)}%` },
    { rank: 2, text: rateText(batch.samplesPerSecond) },
    ...Object.entries(batch.metrics).map(([name, value], i) => ({
      rank: i === 0 ? 3 : name === second ? 4 : 7 + i,
      text: `${name} ${metricText(value, digits)}`,
    })),
    ...(eta === undefined ? [] : [{ rank: 5, text: `ETA ${clockText(eta)}` }]),
  ]
}

function dropToFit(parts: readonly Part[], width: number): readonly Part[] {
  if (parts.length <= 1 || lengthOf(parts) <= width) return parts
  const highest = Math.max(...parts.map(({ rank }) => rank))
  return dropToFit(
    parts.filter(({ rank }) => rank !== highest),
    width,
  )
}

function lengthOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { text }) => sum + text.length + 1, -1)
}

function bar(fraction: number, cells: number, style: ProgressStyle): string {
  const [full, empty] = GLYPHS[`${style.unicode}`]
  const done = Math.min(cells, Math.floor(fraction * cells))
  return painted(style, 'green', full.repeat(done)) + painted(style, 'dim', empty.repeat(cells - done))
}

function painted({ color }: ProgressStyle, name: Color, text: string): string {
  const [on, off] = COLORS[name]
  return color && text !== '' ? `\x1b[${on}m${text}\x1b[${off}m` : text
}

/** Numbered as the folders are, from 0: `1 of 0-2`. */
function epochText({ epochs }: View, epoch: number): string {
  return epochs === undefined || epochs === 1 ? String(epoch) : `${epoch} of 0-${epochs - 1}`
}

function totals({ metrics, samples, seconds, samplesPerSecond }: EventOf<'epoch' | 'done'>): string {
  const speed = `${countText(samples)} samples in ${seconds.toFixed(1)} s (${rateText(samplesPerSecond)})`
  return [metricsText(metrics), speed].filter(Boolean).join('  ')
}

function metricsText(metrics: Metrics): string {
  return Object.entries(metrics)
    .map(([name, value]) => `${name} ${metricText(value)}`)
    .join('  ')
}

function startDetails({ settings }: EventOf<'start'>): string {
  const values = ['train_batch_size', 'thread_num', 'epochs'].map((key) => [key, settings[`runner.${key}`]] as const)
  const shown = values.filter(([, value]) => value !== undefined)
  return shown.length === 0 ? '' : `  (${shown.map(([key, value]) => `${key} ${value}`).join(', ')})`
}

function doneDetails(done: EventOf<'done'>): string {
  const { evaluation, digest } = done
  const summary = summaryLines(done)
  const test = evaluation && summary.length === 0 ? [`test  ${metricsText(evaluation)}`] : summary
  return [...test, ...(digest === undefined ? [] : [`digest ${digest}`])].map((line) => `\n${line}`).join('')
}
