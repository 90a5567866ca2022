/**
 * @file Curves as columns: a file of records that is only added to. A record is a letter, a length, a checksum and its bytes: `S` names the columns
 * of the rows that follow, `R` is rows, column by column, as 32-bit floats but for those of FULL. A torn or damaged record is passed over and counted.
 */
import { crc32 } from 'node:zlib'
import { AppendFile } from './append-file.ts'
import { type ReadFile, readPlain } from './read-plain.ts'

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

const HEAD_BYTES = 9
const [SCHEMA, ROWS] = [0x53, 0x52]
const BLOCK_ROWS = 256
const BLOCK_MS = 1000

export class CurveWriter {
  readonly #file: AppendFile
  #columns: readonly string[] = []
  #rows: CurveRow[] = []
  #since = 0

  constructor(path: string, onFailure: (error: Error) => void) {
    this.#file = new AppendFile(path, onFailure)
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
  }

  close(): void {
    this.#block()
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

function record(kind: number, body: Uint8Array): Uint8Array {
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  head.writeUInt8(kind, 0)
  head.writeUInt32LE(body.length, 1)
  head.writeUInt32LE(crc32(body), 5)
  return Buffer.concat([head, body])
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
}

interface Block {
  readonly names: readonly string[]
  readonly count: number
  readonly at: number
}

/** All rows of a file, in the order in which they were written. */
export function readCurves(path: string, read: ReadFile = readPlain): Curves {
  const bytes = read(path)
  const blocks: Block[] = []
  let [names, at, damaged]: [readonly string[], number, number] = [[], 0, 0]
  while (at + HEAD_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(at + 1)
    const end = at + HEAD_BYTES + length
    if (!isKind(bytes[at]!) || end > bytes.length) {
      const next = nextRecord(bytes, at + 1)
      if (next === undefined) break
      damaged++
      at = next
      continue
    }
    const body = bytes.subarray(at + HEAD_BYTES, end)
    if (crc32(body) !== bytes.readUInt32LE(at + 5)) {
      damaged++
      at = nextRecord(bytes, at + 1) ?? end // its length may be what is damaged
      continue
    }
    if (bytes[at] === SCHEMA) names = JSON.parse(body.toString('utf8'))
    else blocks.push({ names, count: body.readUInt32LE(0), at: at + HEAD_BYTES + 4 })
    at = end
  }
  return { ...columnsOf(bytes, blocks), damaged, end: at }
}

const isKind = (byte: number) => byte === SCHEMA || byte === ROWS

/** After damage: the next place from which a record with a right checksum begins. */
function nextRecord(bytes: Buffer, from: number): number | undefined {
  for (let at = from; at + HEAD_BYTES <= bytes.length; at++) {
    if (!isKind(bytes[at]!)) continue
    const length = bytes.readUInt32LE(at + 1)
    const end = at + HEAD_BYTES + length
    if (length > 0 && end <= bytes.length && crc32(bytes.subarray(at + HEAD_BYTES, end)) === bytes.readUInt32LE(at + 5))
      return at
  }
  return undefined
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
