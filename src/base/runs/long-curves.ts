/** @file Curves of a run, of which no more is read than is asked for: of a long one its outline and its end, a part of it by its place, all of it when nothing less will do. */
import { type Curves, type OutlinedLine, parseCurves, readCurves } from './curve-file.ts'
import { AXES, type AxisColumn, extremesOf, lastOf, namesOf, readOutline, type Stretch } from './outline-file.ts'
import { type ReadFile, readPlain } from './read-plain.ts'

/** With fewer, all of it is read as fast. */
const LEAST_STRETCHES = 16

export function openCurves(path: string, read: ReadFile = readPlain): Curves {
  const stretches = readOutline(path, read)
  if (stretches.length < LEAST_STRETCHES) return readCurves(path, read)
  const end = parseCurves(read(path, stretches.at(-1)!.from), stretches.at(-2)!.columns)
  // Shorter than its outline says: it was cut off, or is another.
  return end.rows < stretches.at(-1)!.rows ? readCurves(path, read) : new LongCurves(path, read, stretches, end)
}

class LongCurves implements Curves {
  readonly rows: number
  readonly names: readonly string[]
  readonly end: number
  readonly #stretches: readonly Stretch[]
  readonly #end: Curves
  readonly #readAll: () => Curves
  readonly #readPart: (from: number, to: number) => Buffer
  #whole: Curves | undefined

  constructor(path: string, read: ReadFile, stretches: readonly Stretch[], end: Curves) {
    this.#stretches = stretches.slice(0, -1)
    this.#end = end
    this.#readAll = () => readCurves(path, read)
    this.#readPart = (from, to) => read(path, from, to)
    this.rows = this.#stretches.reduce((sum, { rows }) => sum + rows, end.rows)
    // Stretches share their lists of columns, but for a few.
    const lists = new Map(stretches.map((stretch) => [stretch.keys, stretch]))
    this.names = [...new Set([...[...lists.values()].flatMap(namesOf), ...end.names])]
    this.end = stretches.at(-1)!.from + end.end
  }

  /** What is not read is not checked: a damaged record is found when its part is looked at. */
  get damaged(): number {
    return (this.#whole ?? this.#end).damaged
  }

  readonly column: Curves['column'] = (name, newest = this.rows) => {
    if (newest <= this.#end.rows) return this.#end.column(name, newest)
    this.#whole ??= this.#readAll()
    return this.#whole.column(name, newest)
  }

  outline(name: string, axis: string, isTest: boolean): OutlinedLine | undefined {
    if (this.#whole || !isAxis(axis)) return undefined
    const [x, y] = [new Float64Array(2 * this.#stretches.length + 4), new Float64Array(2 * this.#stretches.length + 4)]
    let [count, total, last] = [0, 0, Number.NEGATIVE_INFINITY]
    const keep = (point: { readonly x: number; readonly y: number }) => {
      last = Math.max(last, point.x)
      x[count] = last
      y[count++] = point.y
    }
    for (const stretch of this.#stretches) {
      const found = extremesOf(stretch, name, axis, isTest)
      if (!found) continue
      total += found.count
      const isFalling = found.high.x < found.low.x
      keep(isFalling ? found.high : found.low)
      if (found.count > 1) keep(isFalling ? found.low : found.high)
    }
    const end = endOf(this.#end, name, axis, isTest)
    for (const point of end.points) keep(point)
    return { x: x.subarray(0, count), y: y.subarray(0, count), total: total + end.count }
  }

  part(axis: string, from: number, to: number): Curves | undefined {
    if (this.#whole || !isAxis(axis)) return undefined
    const ends = this.#stretches.map((stretch) => lastOf(stretch, axis))
    // A clock that was set back: places are known only from the beginning on.
    if (ends.some((end, i) => i > 0 && end < ends[i - 1]!)) return undefined
    const first = Math.max(0, ends.findIndex((end) => end >= from) - 1)
    const behind = ends.findIndex((end) => end > to)
    if (ends.at(-1)! < from) return this.#read(this.#stretches.length - 1, undefined)
    return this.#read(first, behind < 0 ? undefined : Math.min(this.#stretches.length - 1, behind + 1))
  }

  /** Both stretches included; undefined: to the end of the file. */
  #read(first: number, last: number | undefined): Curves {
    const to = last === undefined ? Number.POSITIVE_INFINITY : this.#stretches[last]!.to
    return parseCurves(this.#readPart(this.#stretches[first]!.from, to), this.#stretches[first - 1]?.columns)
  }
}

const isAxis = (axis: string): axis is AxisColumn => AXES.some((one) => one === axis)

/** The smallest, the largest and the last of the rows at the end. */
function endOf(end: Curves, name: string, axis: AxisColumn, isTest: boolean) {
  const [places, values, tests] = [end.column(axis), end.column(name), end.column('isTest')]
  const kept = { low: -1, high: -1, last: -1 }
  let count = 0
  for (let i = 0; places && values && tests && i < end.rows; i++) {
    const value = values[i]!
    if (tests[i] !== Number(isTest) || Number.isNaN(value)) continue
    count++
    if (kept.low < 0 || value < values[kept.low]!) kept.low = i
    if (kept.high < 0 || value > values[kept.high]!) kept.high = i
    kept.last = i
  }
  const chosen = [...new Set(Object.values(kept))].filter((i) => i >= 0).sort((a, b) => a - b)
  return { count, points: chosen.map((i) => ({ x: places![i]!, y: values![i]! })) }
}
