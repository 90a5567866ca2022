/** @file What a terminal shows when a run is over: small plots of loss and AUC, where the time went, and what to try next. A fold over events and pure functions. */
import type { Event, EventOf } from './event.ts'
import { metricText } from './text.ts'

/** A curve in so many means of equal stretches, whatever its length: when all are full, two become one. */
const CELLS = 48

export interface Curve {
  /** Batches of one cell. */
  readonly stretch: number
  readonly cells: readonly { readonly sum: number; readonly count: number }[]
  readonly first: number
  readonly last: number
}

export type Curves = Readonly<Record<string, Curve>>

const SHOWN = ['loss', 'auc'] as const

/** The curves after one more event: running values of printed batches. */
export function foldCurves(curves: Curves, event: Event): Curves {
  if (event.kind === 'start') return {}
  if (event.kind !== 'batch' || event.phase !== 'train') return curves
  const changed = SHOWN.flatMap((name) => {
    const value = event.metrics[name]
    return value !== undefined && Number.isFinite(value) ? [[name, withValue(curves[name], value)] as const] : []
  })
  return { ...curves, ...Object.fromEntries(changed) }
}

function withValue(curve: Curve | undefined, value: number): Curve {
  if (!curve) return { stretch: 1, cells: [{ sum: value, count: 1 }], first: value, last: value }
  const { cells, stretch, first } = curve
  const newest = cells.at(-1)!
  if (newest.count < stretch)
    return {
      ...curve,
      last: value,
      cells: [...cells.slice(0, -1), { sum: newest.sum + value, count: newest.count + 1 }],
    }
  if (cells.length < CELLS) return { ...curve, last: value, cells: [...cells, { sum: value, count: 1 }] }
  const halved = Array.from({ length: CELLS / 2 }, (_, i) => {
    const [a, b] = [cells[2 * i]!, cells[2 * i + 1]!]
    return { sum: a.sum + b.sum, count: a.count + b.count }
  })
  return { stretch: 2 * stretch, cells: [...halved, { sum: value, count: 1 }], first, last: value }
}

const BLOCKS = { true: '▁▂▃▄▅▆▇█', false: '_.-=+*#@' } as const

/** `loss ▇▆▅▃▂▁ 0.6931 to 0.4512`, one line a curve that has enough to show. */
export function plotLines(curves: Curves, unicode: boolean): string[] {
  return SHOWN.flatMap((name) => {
    const curve = curves[name]
    if (!curve || curve.cells.length < 3) return []
    const means = curve.cells.map(({ sum, count }) => sum / count)
    const [low, high] = [Math.min(...means), Math.max(...means)]
    const blocks = BLOCKS[`${unicode}`]
    const drawn = means.map(
      (mean) => blocks[high === low ? 0 : Math.round(((mean - low) / (high - low)) * (blocks.length - 1))],
    )
    return [`${name.padEnd(4)} ${drawn.join('')} ${metricText(curve.first)} to ${metricText(curve.last)}`]
  })
}

/** Parts of a step under the words that people know. */
const WORDS: Readonly<Record<string, string>> = {
  load: 'read',
  lookup: 'lookup',
  gather: 'pull',
  run: 'compute',
  merge: 'push',
  update: 'push',
}
const LEAST_SHARE = 0.02

/** `time compute 61 %  lookup 20 %`: of trainer threads, the largest first. */
export function timeLine({ breakdown = {} }: EventOf<'done'>): string[] {
  const shares = sharesOf(breakdown).filter(([, share]) => share >= LEAST_SHARE)
  return shares.length === 0
    ? []
    : [`time ${shares.map(([word, share]) => `${word} ${Math.round(100 * share)} %`).join('  ')}`]
}

function sharesOf(breakdown: Readonly<Record<string, number>>): [string, number][] {
  const sums = new Map<string, number>()
  for (const [part, seconds] of Object.entries(breakdown)) {
    const word = WORDS[part] ?? part
    sums.set(word, (sums.get(word) ?? 0) + seconds)
  }
  const all = [...sums.values()].reduce((sum, one) => sum + one, 0)
  return all > 0
    ? [...sums].map(([word, seconds]): [string, number] => [word, seconds / all]).sort((a, b) => b[1] - a[1])
    : []
}

/** How much of the time between batches the loop waited for input, over the printed batches. */
export interface Waited {
  readonly wait: number
  readonly all: number
}

export const NOT_WAITED: Waited = { wait: 0, all: 0 }

export function foldWaited({ wait, all }: Waited, event: Event): Waited {
  if (event.kind === 'start') return NOT_WAITED
  if (event.kind !== 'batch' || event.phase !== 'train') return { wait, all }
  return { wait: wait + event.readerSecondsPerBatch, all: all + event.secondsPerBatch }
}

const [WAITS, LOOKS_UP, WORSE_EPOCHS] = [0.3, 0.5, 2]

/** One hint at most: what would help most comes first. */
export function hintLine(done: EventOf<'done'>, { wait, all }: Waited): string[] {
  const waiting = all > 0 ? wait / all : 0
  if (waiting > WAITS)
    return [
      `try  more reader threads (runner.reader_threads): ${Math.round(100 * waiting)} % of the time it waited for input`,
    ]
  const shares = new Map(sharesOf(done.breakdown ?? {}))
  const rows = (shares.get('lookup') ?? 0) + (shares.get('pull') ?? 0)
  if (rows > LOOKS_UP)
    return [
      `try  larger batches or more trainer threads: ${Math.round(100 * rows)} % of the time went to looking rows up`,
    ]
  const last = done.epochs?.at(-1)?.epoch
  if (done.best && last !== undefined && last - done.best.epoch >= WORSE_EPOCHS)
    return [`try  fewer epochs or early stopping: the best ${done.best.metric} was that of epoch ${done.best.epoch}`]
  return []
}
