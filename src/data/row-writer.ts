/** @file Rows of a table written as samples: cells to slots, checked; errors name the column. */
import { hashText, UserError } from '../util/index.ts'
import type { Slot } from './batch.ts'
import type { ColumnSource } from './column-spec.ts'
import { createColumnWriter } from './column-writer.ts'
import type { SourcePart } from './text-source.ts'

export interface RowWriter {
  /** Every column that is needed, once, in the order cells must be given. */
  readonly columns: readonly string[]
  /** Appends a row; one that does not fit throws and leaves nothing behind. */
  add(cells: readonly unknown[]): void
  /** Whether enough rows are there for a part. */
  readonly full: boolean
  take(bytes: number): SourcePart
}

const PART_SAMPLES = 2048
const PART_SIGNS = 256 * 1024

type Scalar = number | bigint | string

export function createRowWriter(slots: readonly Slot[], sources: readonly ColumnSource[]): RowWriter {
  const columns = [...new Set(sources.flatMap(({ from }) => from))]
  const places = sources.map(({ from }) => from.map((name) => columns.indexOf(name)))
  const writer = createColumnWriter(slots)
  const valuesOf = (slot: Slot, source: ColumnSource, cells: readonly unknown[]): Scalar[] => {
    const values = cells.flatMap((cell, i) => scalars(cell, slot, source, source.from[i]!))
    return values.length === 0 && slot.kind === 'sparse' ? [0] : values
  }
  return {
    columns,
    add: (cells) => {
      writer.add(
        slots.map((slot, s) =>
          valuesOf(
            slot,
            sources[s]!,
            places[s]!.map((place) => cells[place]),
          ),
        ),
      )
    },
    get full() {
      return writer.samples >= PART_SAMPLES || writer.signs >= PART_SIGNS
    },
    take: (bytes) => ({ ...writer.take(), bytes, skipped: 0 }),
  }
}

/** The values of one cell; an empty one is nothing for a sparse slot and 0 for a dense one, as a slot missing from slot text. */
function scalars(cell: unknown, slot: Slot, source: ColumnSource, column: string): Scalar[] {
  if (cell === undefined || cell === null || cell === '') return slot.kind === 'sparse' ? [] : [0]
  if (isList(cell)) return Array.from(cell).flatMap((item) => scalars(item, slot, source, column))
  if (typeof cell === 'string' && source.split !== undefined) {
    const { split, ...rest } = source
    return cell.split(split).flatMap((item) => scalars(item, slot, rest, column))
  }
  if (source.type === 'hash') return [hashText(`${slot.name}:${String(cell)}`)]
  if (typeof cell === 'boolean') return [Number(cell)]
  if (typeof cell === 'bigint') return [slot.kind === 'dense' && slot.dtype === 'float32' ? Number(cell) : cell]
  if (typeof cell === 'number') return [cell]
  if (typeof cell === 'string') return [fromText(cell, slot, column)]
  throw badCell(column, `found ${cell instanceof Date ? 'a date' : typeof cell}`)
}

function fromText(text: string, slot: Slot, column: string): Scalar {
  if (slot.kind === 'sparse' || slot.dtype === 'int64') {
    if (/^\s*-?\d+\s*$/.test(text)) return text.trim()
    throw badCell(column, `expected a whole number, found ${JSON.stringify(text.slice(0, 40))}`)
  }
  const value = Number(text)
  if (Number.isFinite(value) && text.trim() !== '') return value
  throw badCell(column, `expected a number, found ${JSON.stringify(text.slice(0, 40))}`)
}

function isList(cell: unknown): cell is ArrayLike<unknown> {
  return Array.isArray(cell) || (ArrayBuffer.isView(cell) && !(cell instanceof DataView))
}

function badCell(column: string, found: string): UserError {
  return new UserError(`Column "${column}": ${found}.`, { code: 'DATA_CELL' })
}
