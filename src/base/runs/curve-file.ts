/**
 * @file Curves as columns: a file of records that is only added to. `S` names the columns of the rows that follow, `R` is rows, column by column, as
 * 32-bit floats but for those of FULL. Beside it an outline grows, so that who looks at all of a long run need not read all of it.
 */
import { AppendFile } from './append-file.ts'
import { OutlineWriter } from './outline-file.ts'
import { type ReadFile, readPlain } from './read-plain.ts'
import { eachRecord, record } from './record-file.ts'

/** Columns that every row has; the others are metrics (`loss`, `auc`) and seconds of a batch by part (`time.lookup`). */
export const CURVE_COLUMNS = [
  'at',
  'step',
  'samples',
  'epoch',
  'isTest',
  'samplesPerSecond',
  'secondsPerBatch',
  'waitSeconds',
] as const
/** Times and counts, which 32 bits would round. */
const FULL: ReadonlySet<string> = new Set(['at', 'step', 'samples'])

export type CurveRow = Readonly<Record<string, number>>

const [SCHEMA, ROWS] = [0x53, 0x52]
const BLOCK_ROWS = 256
const BLOCK_MS = 1000

export class CurveWriter {
  readonly #file: AppendFile
  readonly #outline: OutlineWriter
  #columns: readonly string[] = []
  #rows: CurveRow[] = []
  #since = 0

  constructor(path: string, onFailure: (error: Error) => void) {
    this.#file = new AppendFile(path, onFailure)
    this.#outline = new OutlineWriter(path, this.#file.size, onFailure)
  }

  add(row: CurveRow, nowMs: number): void {
    const names = Object.keys(row)
    if (names.length !== this.#columns.length || names.some((name, i) => name !== this.#columns[i])) {
      this.#block()
      this.#columns = names
      this.#file.add(record(SCHEMA, Buffer.from(JSON.stringify(names))))
    }
    if (this.#rows.length === 0) this.#since = nowMs
    this.#rows.push(row)
    this.#outline.add(row)
    // A clock that was set back must not keep rows waiting.
    if (this.#rows.length >= BLOCK_ROWS || Math.abs(nowMs - this.#since) >= BLOCK_MS) this.#block()
  }

  /** Rows that wait for more become a block: what is read meanwhile is no older than that. */
  settle(): void {
    this.#block()
  }

  #block(): void {
    if (this.#rows.length === 0) return
    this.#file.add(record(ROWS, rowBytes(this.#columns, this.#rows)))
    this.#rows = []
    this.#outline.block(this.#file.size, this.#columns)
  }

  close(): void {
    this.#block()
    this.#outline.close()
    this.#file.close()
  }
}

const widthOf = (column: string) => (FULL.has(column) ? 8 : 4)

function rowBytes(columns: readonly string[], rows: readonly CurveRow[]): Uint8Array {
  const width = columns.reduce((sum, column) => sum + widthOf(column), 0)
  const bytes = Buffer.allocUnsafe(4 + rows.length * width)
  let at = bytes.writeUInt32LE(rows.length, 0)
  for (const column of columns) {
    const isFull = FULL.has(column)
    for (const row of rows) at = isFull ? bytes.writeDoubleLE(row[column]!, at) : bytes.writeFloatLE(row[column]!, at)
  }
  return bytes
}

export interface Curves {
  readonly rows: number
  readonly names: readonly string[]
  /** Values of all rows, or of so many of the newest; NaN where a row does not have it. Decoded when first asked for: a run may have millions of rows. */
  column(name: string, newest?: number): Float64Array | undefined
  /** Records that could not be read. */
  readonly damaged: number
  /** Where the next record will begin. */
  readonly end: number
  /** Of a long run, kept beside it: see long-curves.ts. */
  outline?(name: string, axis: string, isTest: boolean): OutlinedLine | undefined
  /** The rows of this range of an axis, with some around it, where they can be read alone. */
  part?(axis: string, from: number, to: number): Curves | undefined
}

/** The smallest and the largest value of each stretch of a line, in the order of the axis. */
export interface OutlinedLine {
  readonly x: Float64Array
  readonly y: Float64Array
  /** Rows that have a value. */
  readonly total: number
}

interface Block {
  readonly names: readonly string[]
  readonly count: number
  readonly at: number
}

/** All rows of a file, in the order in which they were written. */
export const readCurves = (path: string, read: ReadFile = readPlain): Curves => parseCurves(read(path))

/** `names` are the columns of rows before which there is no record that names them. */
export function parseCurves(bytes: Buffer, names: readonly string[] = []): Curves {
  const blocks: Block[] = []
  let columns = names
  const ends = eachRecord(bytes, [SCHEMA, ROWS], (kind, from, to) => {
    if (kind === SCHEMA) columns = JSON.parse(bytes.toString('utf8', from, to))
    else blocks.push({ names: columns, count: bytes.readUInt32LE(from), at: from + 4 })
  })
  return { ...columnsOf(bytes, blocks), ...ends }
}

function columnsOf(bytes: Buffer, blocks: readonly Block[]): Pick<Curves, 'rows' | 'names' | 'column'> {
  const rows = blocks.reduce((sum, { count }) => sum + count, 0)
  const names = [...new Set(blocks.flatMap((block) => block.names))]
  const whole = new Map<string, Float64Array>()
  const column: Curves['column'] = (name, newest = rows) => {
    if (!names.includes(name)) return undefined
    const known = whole.get(name)
    if (known) return known.subarray(Math.max(0, rows - newest))
    const values = decoded(bytes, blocks, { name, first: Math.max(0, rows - newest), rows })
    if (values.length === rows) whole.set(name, values)
    return values
  }
  return { rows, names, column }
}

interface Wanted {
  readonly name: string
  readonly first: number
  readonly rows: number
}

function decoded(bytes: Buffer, blocks: readonly Block[], { name, first, rows }: Wanted): Float64Array {
  const values = new Float64Array(rows - first).fill(Number.NaN)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let row = -first
  for (const { names, count, at } of blocks) {
    const place = row + count > 0 ? names.indexOf(name) : -1
    if (place >= 0) {
      const from = at + count * names.slice(0, place).reduce((sum, one) => sum + widthOf(one), 0)
      const skipped = Math.max(0, -row)
      if (FULL.has(name)) for (let i = skipped; i < count; i++) values[row + i] = view.getFloat64(from + 8 * i, true)
      else for (let i = skipped; i < count; i++) values[row + i] = view.getFloat32(from + 4 * i, true)
    }
    row += count
  }
  return values
}
