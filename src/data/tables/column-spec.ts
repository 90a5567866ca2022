/** @file Which columns of a table (CSV, Parquet) fill which slot, and how their values are read. */
import { suggest, UserError, type Where } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { rawName } from '../features/encode.ts'

export type ColumnType = 'number' | 'hash'

/** What fills one slot. */
export interface ColumnSource {
  /** The columns, in the order of the slot's values. */
  readonly from: readonly string[]
  /** `number`: as written; `hash`: any text, hashed together with the slot's name to a feature sign. */
  readonly type: ColumnType
  /** Text between several values of one cell. */
  readonly split?: string | undefined
}

/** `label` | `[I1, I2]` | `{ from: C1, type: hash, split: '|' }` by slot, as `runner.columns` holds it. */
export type ColumnsByName = Readonly<Record<string, string | readonly string[] | ColumnSpec>>

export interface ColumnSpec {
  readonly from?: string | readonly string[] | undefined
  readonly type?: ColumnType | undefined
  readonly split?: string | undefined
}

export interface ColumnsOptions {
  readonly columns?: ColumnsByName | undefined
  /** Between cells of CSV. @default by the file's ending: tab for .tsv, else a comma */
  readonly delimiter?: string | undefined
  /** Whether the first line of CSV names its columns; without, they are 1, 2, 3... @default true */
  readonly header?: boolean | undefined
}

/** One source per slot, in slot order; a slot that is not mentioned is the column of its name. */
export function columnSources(slots: readonly Slot[], columns: ColumnsByName = {}): readonly ColumnSource[] {
  const names = new Set(slots.map(({ name }) => name))
  const unknown = Object.keys(columns).find((name) => !names.has(name))
  if (unknown !== undefined) {
    throw new UserError(`runner.columns.${unknown}: the model declares no slot of this name.`, {
      code: 'DATA_COLUMNS',
      hint: `The model's slots are ${[...names].join(', ')}.`,
    })
  }
  return slots.map((slot) => sourceOf(slot, columns[slot.name] ?? rawName(slot)))
}

function sourceOf(slot: Slot, written: ColumnsByName[string]): ColumnSource {
  const spec: ColumnSpec = typeof written === 'string' || isList(written) ? { from: written } : written
  const { from = slot.name, type = 'number', split } = spec
  if (type === 'hash' && slot.kind === 'dense') {
    throw new UserError(`runner.columns.${slot.name}: only sparse slots can be hashed, this one is dense.`, {
      code: 'DATA_COLUMNS',
      hint: 'Leave `type: hash` out, or declare the slot as sparse in the model.',
    })
  }
  const own = slot.feature?.kind === 'ids' ? slot.feature.split : undefined
  return { from: typeof from === 'string' ? [from] : from, type, split: split ?? own }
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value)
}

/** A table without a column that a slot needs. */
export function noColumn(name: string, known: readonly string[], where: Where): UserError {
  const guess = suggest(name, known)
  const question = guess === undefined ? '' : ` Did you mean "${guess}"?`
  return new UserError(`There is no column "${name}".${question}`, {
    code: 'DATA_COLUMNS',
    where,
    hint: `The columns are ${known.slice(0, 40).join(', ')}. Say which column fills which slot with runner.columns.`,
  })
}
