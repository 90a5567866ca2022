/** @file Lines to draw from curves: what lies on the axis, smoothed before it is thinned, thinned so that no peak is lost. Pure. */
import type { Curves, OutlinedLine } from '../../base/runs/index.ts'
import type { Axis, Phase } from './api.ts'

export interface SeriesOptions {
  readonly axis: Axis
  readonly phase: Phase
  readonly metric: string
  /** Of the axis; what lies outside is left out, but for one point on each side. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Buckets, of which each keeps its smallest and its largest value. */
  readonly points: number
  /** From 0 to 1: over which share of the axis values are smoothed. */
  readonly smooth: number
}

export interface Line {
  readonly x: Float64Array
  readonly y: Float64Array
  readonly total: number
}

const AXES: Readonly<Record<Axis, string>> = { step: 'step', samples: 'samples', time: 'at' }
const EMPTY: Line = { x: new Float64Array(), y: new Float64Array(), total: 0 }

/** Time is in seconds since 1970, as charts take it. */
export function lineOf(curves: Curves, options: SeriesOptions): Line {
  const { metric, points, smooth, from, to } = options
  const axis = AXES[options.axis]
  const scale = axis === 'at' ? 1000 : 1
  const isPart = from !== undefined && to !== undefined
  // Of a long run no more is read than is shown; smoothing looks back further than that.
  if (smooth === 0 && !isPart) {
    const outline = curves.outline?.(metric, axis, options.phase === 'test')
    if (outline && outline.x.length >= 2 * points) return fromOutline(outline, points, scale)
  }
  const part = smooth === 0 && isPart ? curves.part?.(axis, from * scale, to * scale) : undefined
  const whole = selected(part ?? curves, axis, metric, options.phase)
  if (whole.x.length === 0) return EMPTY
  const smoothed = smooth > 0 ? { x: whole.x, y: smoothedBy(whole.x, whole.y, smooth) } : whole
  const { x, y } = within(smoothed.x, smoothed.y, options.from, options.to)
  return { ...thinned(x, y, points), total: x.length }
}

function fromOutline({ x, y, total }: OutlinedLine, points: number, scale: number): Line {
  const line = thinned(x, y, points)
  return { ...line, x: scale === 1 ? line.x : line.x.map((one) => one / scale), total }
}

/** Rows of the phase that have the metric, in the order of the axis: a clock that was set back must not fold a line over itself. */
function selected({ column, rows }: Curves, axis: string, metric: string, phase: Phase): Omit<Line, 'total'> {
  const [at, value, isTest] = [column(axis), column(metric), column('isTest')]
  if (!at || !value || !isTest) return EMPTY
  const wanted = phase === 'test' ? 1 : 0
  const [x, y] = [new Float64Array(rows), new Float64Array(rows)]
  const scale = axis === 'at' ? 1e-3 : 1
  let count = 0
  let last = Number.NEGATIVE_INFINITY
  for (let i = 0; i < rows; i++) {
    if (isTest[i] !== wanted || Number.isNaN(value[i]!)) continue
    last = Math.max(last, at[i]! * scale)
    x[count] = last
    y[count++] = value[i]!
  }
  return { x: x.subarray(0, count), y: y.subarray(0, count) }
}

/** How much of the axis the strongest smoothing looks back over. */
const MOST = 0.2

/**
 * Each value is a mean of those before it that fades with their distance on the axis, not with their number: a run that printed ten times as often
 * looks the same.
 */
export function smoothedBy(x: Float64Array, y: Float64Array, smooth: number): Float64Array {
  const range = x[x.length - 1]! - x[0]!
  const reach = smooth * MOST * range
  if (!(reach > 0)) return y
  const result = new Float64Array(y.length)
  let [sum, weight] = [0, 0]
  for (let i = 0; i < y.length; i++) {
    // A point stands for the stretch since the one before it.
    const stretch = i === 0 ? range / Math.max(1, y.length - 1) : x[i]! - x[i - 1]!
    const fade = Math.exp(-stretch / reach)
    if (Number.isFinite(y[i]!)) {
      sum = sum * fade + y[i]! * (1 - fade)
      weight = weight * fade + (1 - fade)
    }
    result[i] = weight > 0 ? sum / weight : y[i]!
  }
  return result
}

function within(x: Float64Array, y: Float64Array, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY) {
  const first = Math.max(0, lowerBound(x, from) - 1)
  const last = Math.min(x.length, lowerBound(x, to) + 2)
  return { x: x.subarray(first, last), y: y.subarray(first, last) }
}

function lowerBound(x: Float64Array, value: number): number {
  let [low, high] = [0, x.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (x[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}

/** The smallest and the largest of each bucket in their order, and the first and the last point. */
export function thinned(x: Float64Array, y: Float64Array, buckets: number): Pick<Line, 'x' | 'y'> {
  if (x.length <= 2 * buckets) return { x, y }
  const [xs, ys] = [new Float64Array(2 * buckets + 2), new Float64Array(2 * buckets + 2)]
  let count = 0
  const keep = (i: number) => {
    xs[count] = x[i]!
    ys[count++] = y[i]!
  }
  keep(0)
  for (let bucket = 0; bucket < buckets; bucket++) {
    const [start, end] = [Math.floor((bucket * x.length) / buckets), Math.floor(((bucket + 1) * x.length) / buckets)]
    let [low, high] = [start, start]
    for (let i = start; i < end; i++) {
      if (y[i]! < y[low]!) low = i
      if (y[i]! > y[high]!) high = i
    }
    keep(Math.min(low, high))
    if (low !== high) keep(Math.max(low, high))
  }
  keep(x.length - 1)
  return { x: xs.slice(0, count), y: ys.slice(0, count) }
}
