/** @file Rows of a table written as samples: cells to slots, checked; errors name the column. */
import { createLogColumn } from '../../base/kernel/index.ts'
import { hashText, UserError } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { cellEncoderOf, type Encoder } from '../features/encode.ts'
import type { SourcePart } from '../text/text-source.ts'
import { type CellList, createCellList } from './cell-list.ts'
import type { ColumnSource } from './column-spec.ts'

export interface RowWriter {
  /** Every column that is needed, once, in the order cells must be given. */
  readonly columns: readonly string[]
  /** Appends a row; one that does not fit throws and leaves nothing behind. */
  add(cells: readonly unknown[]): void
  /** Whether enough rows are there for a part. */
  readonly full: boolean
  /** The rows so far; valid until the next add. */
  take(bytes: number): SourcePart
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
}

export function createRowWriter(slots: readonly Slot[], sources: readonly ColumnSource[]): RowWriter {
  const columns = [...new Set(sources.flatMap(({ from }) => from))]
  const signs = createCellList('sign')
  const dense = slots.flatMap((slot) => (slot.kind === 'dense' ? [createCellList(slot.dtype)] : []))
  let denseSlots = 0
  const fillers = slots.map((slot, s): Filler => {
    const { from, type, split } = sources[s]!
    const list = slot.kind === 'sparse' ? signs : dense[denseSlots++]!
    const hash = type === 'hash' ? hasher(slot.name) : undefined
    return {
      slot,
      list,
      places: from.map((name) => columns.indexOf(name)),
      names: from,
      split,
      hash,
      encode: cellEncoderOf(slot),
    }
  })
  const sparseSlots = slots.length - dense.length
  const logs = fillers.flatMap(({ slot, list }) => (slot.feature?.kind === 'log' ? [list] : []))
  const logColumn = logs.length > 0 ? createLogColumn() : undefined
  let counts: number[] = []
  let starts: number[] = [0]

  const addRow = (cells: readonly unknown[]) => {
    for (const filler of fillers) {
      const before = filler.list.length
      for (const [i, place] of filler.places.entries()) addCell(filler, cells[place], filler.names[i]!)
      const count = filler.list.length - before
      if (filler.slot.kind === 'sparse') {
        if (count === 0) signs.addNumber(filler.encode ? filler.encode(0) : 0)
        counts.push(count || 1)
      } else if (count !== filler.slot.width) {
        throw bad(`Slot "${filler.slot.name}": expected ${filler.slot.width} values, found ${count}.`)
      }
    }
    starts.push(signs.length)
  }
  return {
    columns,
    add: (cells) => {
      const samples = starts.length - 1
      const lengths = [signs, ...dense].map(({ length }) => length)
      try {
        addRow(cells)
      } catch (error) {
        for (const [i, list] of [signs, ...dense].entries()) list.cut(lengths[i]!)
        counts.length = samples * sparseSlots
        throw error
      }
    },
    get full() {
      return starts.length > PART_SAMPLES || signs.length >= PART_SIGNS
    },
    take: (bytes) => {
      for (const { values, length } of logs) logColumn?.(values as Float32Array, length)
      const columns = {
        samples: starts.length - 1,
        counts: Uint32Array.from(counts),
        starts: Uint32Array.from(starts),
        signs: signs.values as BigUint64Array,
        dense: dense.map(({ values }) => values as Float32Array | BigInt64Array),
      }
      counts = []
      starts = [0]
      for (const list of [signs, ...dense]) list.cut(0)
      return { columns, ignored: [], skipped: 0, bytes }
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
