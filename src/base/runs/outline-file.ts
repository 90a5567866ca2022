/**
 * @file Beside a curve file its outline: of every few hundred rows the smallest and the largest value of each column with their places. A run of 50 processes
 * and 100,000 rows each is 370 MB of curves and 15 MB of outlines. It can be made anew from the curves at any time, so nothing depends on it.
 */
import { AppendFile } from './append-file.ts'
import type { CurveRow } from './curve-file.ts'
import type { ReadFile } from './read-plain.ts'
import { eachRecord, record } from './record-file.ts'

export const AXES = ['step', 'samples', 'at'] as const
export type AxisColumn = (typeof AXES)[number]
/** Columns by which rows are placed; all others have a smallest and a largest value. */
const PLACES: ReadonlySet<string> = new Set([...AXES, 'epoch', 'isTest'])

const [SCHEMA, STRETCH] = [0x53, 0x4f]
const STRETCH_ROWS = 256
/** From, to, rows, and the axes of the last row; then of each column: how many values, the smallest with its axes, the largest with its axes. */
const [HEAD, WIDTH] = [3 + AXES.length, 3 + 2 * AXES.length]
const [COUNT, LOW, HIGH, LOW_AXES, HIGH_AXES] = [0, 1, 2, 3, 3 + AXES.length]

export const outlineOf = (curveFile: string) => curveFile.replace(/(\.curve)?$/, '.outline')

interface Schema {
  /** Of the curve file, at the end of the stretch. */
  readonly columns: readonly string[]
  /** What has values: `loss`, and with a `test ` before it what was measured in evaluation. */
  readonly keys: readonly string[]
}

const keyOf = (name: string, isTest: boolean) => (isTest ? `test ${name}` : name)

export class OutlineWriter {
  readonly #file: AppendFile
  readonly #places = { train: new Map<string, number>(), test: new Map<string, number>() }
  #keys: string[] = []
  #values = new Float64Array(16 * WIDTH)
  #rows = 0
  #last: CurveRow | undefined
  #from: number
  #to: number
  #columns: readonly string[] = []
  #written = ''

  constructor(curveFile: string, size: number, onFailure: (error: Error) => void) {
    this.#file = new AppendFile(outlineOf(curveFile), onFailure)
    this.#from = size
    this.#to = size
  }

  add(row: CurveRow): void {
    const isTest = row['isTest'] === 1
    const places = isTest ? this.#places.test : this.#places.train
    for (const name in row) {
      if (PLACES.has(name)) continue
      const value = row[name]!
      if (Number.isNaN(value)) continue
      let place = places.get(name)
      if (place === undefined) {
        place = this.#keys.push(keyOf(name, isTest)) - 1
        places.set(name, place)
        if (this.#values.length < (place + 1) * WIDTH) this.#grow()
      }
      const at = place * WIDTH
      const isFirst = this.#values[at + COUNT]!++ === 0
      if (isFirst || value < this.#values[at + LOW]!) this.#keep(at + LOW, at + LOW_AXES, value, row)
      if (isFirst || value > this.#values[at + HIGH]!) this.#keep(at + HIGH, at + HIGH_AXES, value, row)
    }
    this.#rows++
    this.#last = row
  }

  #keep(at: number, axesAt: number, value: number, row: CurveRow): void {
    this.#values[at] = value
    for (let i = 0; i < AXES.length; i++) this.#values[axesAt + i] = row[AXES[i]!]!
  }

  #grow(): void {
    const larger = new Float64Array(2 * this.#values.length)
    larger.set(this.#values)
    this.#values = larger
  }

  /** The curve file is so long by now, with all rows that were added; these are the columns of its last rows. */
  block(to: number, columns: readonly string[]): void {
    this.#to = to
    this.#columns = columns
    if (this.#rows >= STRETCH_ROWS) this.#stretch()
  }

  #stretch(): void {
    if (this.#rows === 0) return
    const schema = JSON.stringify({ columns: this.#columns, keys: this.#keys } satisfies Schema)
    if (schema !== this.#written) this.#file.add(record(SCHEMA, Buffer.from(schema)))
    this.#written = schema
    const values = this.#values.subarray(0, this.#keys.length * WIDTH)
    const last = AXES.map((axis) => this.#last![axis]!)
    const whole = Float64Array.from([this.#from, this.#to, this.#rows, ...last, ...values])
    this.#file.add(record(STRETCH, new Uint8Array(whole.buffer)))
    values.fill(0)
    this.#rows = 0
    this.#from = this.#to
  }

  close(): void {
    this.#stretch()
    this.#file.close()
  }
}

/** Rows that lie together in the curve file. */
export interface Stretch {
  readonly from: number
  readonly to: number
  readonly rows: number
  readonly columns: readonly string[]
  readonly keys: readonly string[]
  readonly values: Float64Array
}

/** Empty where there is none, where it is damaged, or where rows are missing in it, as those of a process that was killed. */
export function readOutline(curveFile: string, read: ReadFile): readonly Stretch[] {
  const stretches: Stretch[] = []
  let schema: Schema = { columns: [], keys: [] }
  try {
    const bytes = read(outlineOf(curveFile))
    const { damaged } = eachRecord(bytes, [SCHEMA, STRETCH], (kind, from, to) => {
      if (kind === SCHEMA) schema = JSON.parse(bytes.toString('utf8', from, to)) as Schema
      else stretches.push(stretchOf(bytes.subarray(from, to), schema))
    })
    const isWhole = stretches.every(({ from }, i) => from === (stretches[i - 1]?.to ?? 0))
    return damaged === 0 && isWhole ? stretches : []
  } catch {
    return []
  }
}

function stretchOf(body: Buffer, { columns, keys }: Schema): Stretch {
  const length = HEAD + keys.length * WIDTH
  if (body.byteLength !== 8 * length) throw new Error('An outline that is none.')
  // A copy: doubles lie at multiples of eight bytes.
  const numbers = new Float64Array(length)
  new Uint8Array(numbers.buffer).set(body)
  const [from = 0, to = 0, rows = 0] = numbers
  return { from, to, rows, columns, keys, values: numbers }
}

export const lastOf = ({ values }: Stretch, axis: AxisColumn) => values[3 + AXES.indexOf(axis)]!

/** The smallest and the largest value of a column in a stretch, with their places on the axis. */
export function extremesOf({ keys, values }: Stretch, name: string, axis: AxisColumn, isTest: boolean) {
  const place = keys.indexOf(keyOf(name, isTest))
  const at = HEAD + place * WIDTH
  if (place < 0 || values[at + COUNT] === 0) return undefined
  const i = AXES.indexOf(axis)
  return {
    count: values[at + COUNT]!,
    low: { x: values[at + LOW_AXES + i]!, y: values[at + LOW]! },
    high: { x: values[at + HIGH_AXES + i]!, y: values[at + HIGH]! },
  }
}

export const namesOf = ({ keys, columns }: Stretch) => [...columns, ...keys.map((key) => key.replace(/^test /, ''))]
