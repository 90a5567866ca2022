/** @file Rows of a table written as samples: cells to slots, checked; errors name the column. */
import { createLogColumn } from '../../base/kernel/index.ts'
import { hashText, UserError } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { baseSlots, crossedSigns, withCrosses } from '../features/columns.ts'
import { type Encoder, encoderOf } from '../features/encode.ts'
import { crossesFollow, type RowCross, rowCross } from '../features/row-cross.ts'
import type { SourcePart } from '../text/text-source.ts'
import { type CellList, createCellList } from './cell-list.ts'
import type { ColumnSource } from './column-spec.ts'

export interface RowWriter {
  /** Every column that is needed, once, in the order cells must be given. */
  readonly columns: readonly string[]
  /** Appends a row; one that does not fit throws and leaves nothing behind. */
  add(cells: readonly unknown[]): void
  /** The same for cells that are stretches of a line: the cell of column c from bounds[2 * c] to bounds[2 * c + 1]. */
  addBytes(line: Uint8Array, bounds: Int32Array): void
  /** The same for the cells in one row of columns. */
  addFrom(columns: readonly CellColumn[], row: number): void
  /** Whether enough rows are there for a part. */
  readonly full: boolean
  /** The rows so far; valid until the next add. */
  take(bytes: number): SourcePart
}

/** Values of a column by row; those of 64 bits also as words, since bigints are slow. */
export interface CellColumn {
  readonly values: ArrayLike<unknown>
  readonly words?: Uint32Array | undefined
}

const PART_SAMPLES = 2048
const PART_SIGNS = 256 * 1024
/** Texts of a slot whose hashes are remembered. */
const HASHES_KEPT = 64 * 1024

interface Filler {
  readonly slot: Slot
  readonly list: CellList
  /** Of its columns among the cells. */
  readonly places: readonly number[]
  readonly names: readonly string[]
  readonly split: string | undefined
  readonly hash: ((text: string) => bigint) | undefined
  readonly encode: Encoder | undefined
  /** A cell is one number, as it is written. */
  readonly isPlain: boolean
  /** Of a cross, which has no cells. */
  readonly cross: RowCross | undefined
}

const NO_CELLS: ColumnSource = { from: [], type: 'number' }

/** `sources` are those of the slots that are no crosses. */
export function createRowWriter(all: readonly Slot[], sources: readonly ColumnSource[]): RowWriter {
  // A cross in front of its slots can be made only when the columns are there.
  const isInline = crossesFollow(all)
  const slots = isInline ? all : baseSlots(all)
  const [whole, crossedOf] = isInline ? [undefined, undefined] : [withCrosses(all), crossedSigns(all)]
  const columns = [...new Set(sources.flatMap(({ from }) => from))]
  const signs = createCellList('sign')
  const dense = slots.flatMap((slot) => (slot.kind === 'dense' ? [createCellList(slot.dtype)] : []))
  const sparse = slots.flatMap(({ kind, name }) => (kind === 'sparse' ? [name] : []))
  const ends = new Uint32Array(sparse.length + 1)
  const sourceOf = sources.values()
  let denseSlots = 0
  const fillers = slots.map((slot): Filler => {
    const cross = rowCross(slot, sparse)
    const { from, type, split } = cross ? NO_CELLS : sourceOf.next().value!
    const list = slot.kind === 'sparse' ? signs : dense[denseSlots++]!
    const hash = type === 'hash' ? hasher(slot.name) : undefined
    // Logarithms are taken of whole columns: their cells are numbers as any other.
    const encode = slot.feature?.kind === 'log' ? undefined : encoderOf(slot)
    return {
      slot,
      list,
      places: from.map((name) => columns.indexOf(name)),
      names: from,
      split,
      hash,
      isPlain: split === undefined && !hash && !encode,
      encode,
      cross,
    }
  })
  const sparseSlots = sparse.length
  const logs = fillers.flatMap(({ slot, list }) => (slot.feature?.kind === 'log' ? [list] : []))
  const logColumn = logs.length > 0 ? createLogColumn() : undefined
  // A part has at most one sample more than are enough.
  const counts = new Uint32Array((PART_SAMPLES + 1) * sparseSlots)
  const starts = new Uint32Array(PART_SAMPLES + 2)
  let samples = 0
  let crossed = 0

  /** `addOne` appends the cell of a column to the slot that it belongs to. */
  const addRow = (addOne: (filler: Filler, column: number, name: string) => void) => {
    let slot = 0
    ends[0] = signs.length
    for (let f = 0; f < fillers.length; f++) {
      const filler = fillers[f]!
      const before = filler.list.length
      const { places, names } = filler
      for (let i = 0; i < places.length; i++) addOne(filler, places[i]!, names[i]!)
      filler.cross?.(signs, ends)
      const count = filler.list.length - before
      if (filler.slot.kind === 'sparse') {
        if (count === 0) signs.addNumber(filler.encode ? filler.encode(0) : 0)
        counts[samples * sparseSlots + slot] = count || 1
        ends[++slot] = signs.length
      } else if (count !== filler.slot.width) {
        throw bad(`Slot "${filler.slot.name}": expected ${filler.slot.width} values, found ${count}.`)
      }
    }
    if (crossedOf) crossed += crossedOf(counts, samples * sparseSlots)
    starts[++samples] = signs.length
  }
  const lists = [signs, ...dense]
  const lengths = new Float64Array(lists.length)
  /** Leaves nothing of a row that does not fit. */
  const addWhole = (addOne: Parameters<typeof addRow>[0]) => {
    for (let i = 0; i < lists.length; i++) lengths[i] = lists[i]!.length
    try {
      addRow(addOne)
    } catch (error) {
      for (const [i, list] of lists.entries()) list.cut(lengths[i]!)
      throw error
    }
  }
  return {
    columns,
    add: (cells) => addWhole((filler, column, name) => addCell(filler, cells[column], name)),
    addBytes: (line, bounds) =>
      addWhole((filler, column, name) => addBytes(filler, line, bounds[2 * column]!, bounds[2 * column + 1]!, name)),
    addFrom: (all, row) => addWhole((filler, column, name) => addFrom(filler, all[column]!, row, name)),
    get full() {
      return samples >= PART_SAMPLES || signs.length + crossed >= PART_SIGNS
    },
    take: (bytes) => {
      for (const { values, length } of logs) logColumn?.(values as Float32Array, length)
      const columns = {
        samples,
        counts: counts.slice(0, samples * sparseSlots),
        starts: starts.slice(0, samples + 1),
        signs: signs.values as BigUint64Array,
        dense: dense.map(({ values }) => values as Float32Array | BigInt64Array),
      }
      samples = 0
      crossed = 0
      for (const list of lists) list.cut(0)
      return { columns: whole ? whole(columns) : columns, ignored: [], skipped: 0, bytes }
    },
  }
}

/** The values of one cell; an empty one is nothing for a sparse slot and 0 for a dense one, as a slot missing from slot text. */
function addCell(filler: Filler, cell: unknown, column: string): void {
  const { list, slot, split, hash, encode } = filler
  if (cell === undefined || cell === null || cell === '') {
    if (slot.kind === 'dense') list.addNumber(0) // which log leaves as it is
  } else if (typeof cell === 'string') {
    if (split !== undefined && cell.includes(split)) {
      for (const item of cell.split(split)) addCell(filler, item, column)
    } else if (encode) list.addNumber(encode(cell))
    else if (hash) list.addBigint(hash(cell))
    else if (!list.addText(cell)) throw badCell(column, list, JSON.stringify(cell.slice(0, 40)))
  } else if (encode && (typeof cell === 'number' || typeof cell === 'bigint')) list.addNumber(encode(cell))
  else if (hash && (typeof cell === 'number' || typeof cell === 'bigint')) list.addBigint(hash(String(cell)))
  else if (typeof cell === 'number') {
    if (!list.addNumber(cell)) throw badCell(column, list, String(cell))
  } else if (typeof cell === 'bigint') {
    if (!list.addBigint(cell)) throw badCell(column, list, String(cell))
  } else if (typeof cell === 'boolean') addCell(filler, Number(cell), column)
  else if (isList(cell)) for (const item of Array.from(cell)) addCell(filler, item, column)
  else throw badCell(column, list, cell instanceof Date ? 'a date' : typeof cell)
}

/** The same for a cell that is a stretch of a line. */
function addBytes(filler: Filler, line: Uint8Array, from: number, to: number, column: string): void {
  const { list, slot, isPlain } = filler
  if (from === to) {
    if (slot.kind === 'dense') list.addNumber(0)
  } else if (!isPlain || !list.addBytes(line, from, to))
    addCell(filler, DECODER.decode(line.subarray(from, to)), column)
}

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

/** What addBytes is given as the cell of a column, as text. */
export const cellText = (line: Uint8Array, bounds: Int32Array, column: number): string =>
  DECODER.decode(line.subarray(bounds[2 * column], bounds[2 * column + 1]))

/** The same for a cell of a column. */
function addFrom(filler: Filler, { values, words }: CellColumn, row: number, name: string): void {
  const high = words ? words[2 * row + 1]! : NEGATIVE
  if (!filler.isPlain || high >= NEGATIVE || !filler.list.addWords(words![2 * row]!, high))
    addCell(filler, values[row], name)
}

const NEGATIVE = 2 ** 31

/** Frequent texts are hashed once. */
function hasher(slot: string): (text: string) => bigint {
  const known = new Map<string, bigint>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const hash = hashText(`${slot}:${text}`)
    if (known.size >= HASHES_KEPT) known.clear()
    known.set(text, hash)
    return hash
  }
}

function isList(cell: unknown): cell is ArrayLike<unknown> {
  return Array.isArray(cell) || (ArrayBuffer.isView(cell) && !(cell instanceof DataView))
}

function badCell(column: string, { expected }: CellList, found: string): UserError {
  return bad(`Column "${column}": expected ${expected}, found ${found}.`)
}

function bad(message: string): UserError {
  return new UserError(message, { code: 'DATA_CELL' })
}
