/** @file The words and the bar of a run on a terminal, as pure functions of events and view. */
import { type ByKind, byKind } from './by-kind.ts'
import type { Event, EventOf, Metrics } from './event.ts'
import { clockText, countText, metricText, rateText } from './number-text.ts'
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
  if (!view.batch) return undefined
  const { batch } = view
  const eta = remainingSeconds(view, nowMs)
  // In the order they are shown; those of the highest rank give way first when the terminal is narrow.
  const parts = [
    { rank: 6, text: batch.phase === 'train' ? 'epoch' : 'test' },
    { rank: 0, text: epochText(view, batch.epoch) },
    { rank: 1, text: `${Math.floor(batch.fraction * 100)}%`.padStart(4) },
    { rank: 2, text: rateText(batch.samplesPerSecond) },
    ...Object.entries(batch.metrics).map(([name, value], i) => ({
      rank: i < 2 ? 3 + i : 7 + i,
      text: `${name} ${metricText(value)}`,
    })),
    ...(eta === undefined ? [] : [{ rank: 5, text: `ETA ${clockText(eta)}` }]),
  ]
  const shown = dropToFit(parts, width)
  const used = shown.join(' ').length
  if (used > width) return undefined
  const cells = Math.min(BAR_WIDTH.max, width - used - 1)
  const head = shown.findIndex((text) => text.endsWith('%'))
  if (cells < BAR_WIDTH.min || head < 0) return shown.join(' ')
  return [...shown.slice(0, head), bar(batch.fraction, cells, style), ...shown.slice(head)].join(' ')
}

/** The text an event leaves above the bar, or undefined when it only moves the bar. */
export function keptText(event: Event, view: View, style: ProgressStyle): string | undefined {
  const paint = (color: Color, text: string) => painted(style, color, text)
  const texts: ByKind<string | undefined> = {
    start: (start) => `${paint('bold', `${start.command} ${start.model}`)}${paint('dim', startDetails(start))}`,
    ready: () => undefined,
    epochStart: () => undefined,
    batch: () => undefined,
    epoch: (epoch) =>
      `${paint('cyan', `${epoch.phase === 'train' ? 'epoch' : 'test '} ${epochText(view, epoch.epoch)}`)}  ${totals(epoch)}`,
    saved: ({ path }) => `saved ${path}`,
    notice: ({ message }) => message,
    warning: ({ message }) => `${paint('yellow', 'warning:')} ${message}`,
    interrupted: ({ epoch, batch, samples }) =>
      paint('yellow', `stopped in epoch ${epoch + 1} after batch ${batch} (${countText(samples)} samples)`),
    error: ({ message, where, hint }) =>
      `${paint('red', 'error:')} ${where ? `${where} ` : ''}${message}${hint ? `\n  ${hint.replaceAll('\n', '\n  ')}` : ''}`,
    done: (done) => `${paint('green', 'done')}  ${totals(done)}${doneDetails(done)}`,
  }
  return byKind(texts, event)
}

interface Part {
  readonly rank: number
  readonly text: string
}

function dropToFit(parts: readonly Part[], width: number): string[] {
  let kept = [...parts]
  const length = () => kept.reduce((sum, { text }) => sum + text.length + 1, -1)
  while (kept.length > 1 && length() > width) {
    const highest = Math.max(...kept.map(({ rank }) => rank))
    kept = kept.filter(({ rank }) => rank !== highest)
  }
  return kept.map(({ text }) => text)
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

/** Epochs count from 1 for people, from 0 in events and folders. */
function epochText({ epochs }: View, epoch: number): string {
  return epochs === undefined ? String(epoch + 1) : `${epoch + 1}/${epochs}`
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
  const shown = ['train_batch_size', 'thread_num', 'epochs'].filter((key) => settings[key] !== undefined)
  return shown.length === 0 ? '' : `  (${shown.map((key) => `${key} ${settings[key]}`).join(', ')})`
}

function doneDetails({ evaluation, digest }: EventOf<'done'>): string {
  return `${evaluation ? `\ntest  ${metricsText(evaluation)}` : ''}${digest === undefined ? '' : `\ndigest ${digest}`}`
}
