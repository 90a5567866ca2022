/** @file Rows of a table between memory and text: which layout fits a table, and how a row is filled from a line. */
import {
  ADMITTED,
  accessorRow,
  HAS_EMBEDX,
  nearestBfloat16,
  type RowPrecision,
  readWeights,
  SPARSE_RULES,
  type SparseRuleName,
} from '../../base/kernel/index.ts'
import { type OptimizerSpec, stepFactors } from '../optim/index.ts'
import type { DistinctSigns, SparseTable } from './table.ts'
import { accessorLayout, type Column, lineValues, plainLayout, type TextLayout, weightsLayout } from './text-layout.ts'

/** The optimizer's rule by Paddle's name; undefined where Paddle has none and only weights are written. */
export const PADDLE_RULES: Partial<Record<OptimizerSpec['kind'], SparseRuleName>> = {
  sgd: 'SparseNaiveSGDRule',
  adagrad: 'StdAdaGradSGDRule',
  adam: 'SparseAdamSGDRule',
}

/** How the rows of a table are written; `steps` is what the optimizer has made. */
export function writtenLayout(table: SparseTable, optimizer: OptimizerSpec, steps: number): TextLayout {
  if (table.accessor) return accessorLayout(table.accessor)
  const rule = PADDLE_RULES[optimizer.kind] ?? 'SparseNaiveSGDRule'
  const { beta1, beta2 } = optimizer.kind === 'adam' ? optimizer : { beta1: 0, beta2: 0 }
  return plainLayout(table, rule, [beta1 ** (steps + 1), beta2 ** (steps + 1)])
}

export type RowFiller = (values: Float32Array, count: number, row: Float32Array) => boolean

/** Fills rows of `table` from lines; false where a line has another number of values than `layout`. */
export function rowFiller(table: SparseTable, layout: TextLayout): RowFiller {
  const { head, tail } = layout
  const both = [...head, ...tail]
  const stats = table.accessor && accessorRow(table.accessor).stats
  return (values, count, row) => {
    if (count !== head.length && count !== both.length) return false
    fill(count === head.length ? head : both, values, row, table.precision)
    if (stats === undefined) return true
    const flags = new Uint32Array(row.buffer, row.byteOffset + 4 * (stats + 3), 2)
    flags[0] = ADMITTED | (count > head.length ? HAS_EMBEDX : 0)
    flags[1] = 1
    return true
  }
}

function fill(columns: readonly Column[], values: Float32Array, row: Float32Array, precision: RowPrecision): void {
  const halves = precision === 'bfloat16' ? new Uint16Array(row.buffer, row.byteOffset, 2 * row.length) : undefined
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]!
    if (column.kind === 'weight' && halves) halves[column.at] = nearestBfloat16(values[i]!)
    else if (column.kind === 'weight' || column.kind === 'float') row[column.at] = values[i]!
    else if (column.kind === 'double')
      new DataView(row.buffer, row.byteOffset).setFloat64(4 * column.at, values[i]!, true)
  }
}

/**
 * Layouts that lines of a table without accessor may have, for `count` values: the optimizer's own, with its state, else
 * rules whose weights stand in the same places.
 */
export function fittingLayouts(table: SparseTable, optimizer: OptimizerSpec, count: number): readonly TextLayout[] {
  const own = writtenLayout(table, optimizer, 0)
  if (lineValues(own) === count) return [own]
  const rules = Object.keys(SPARSE_RULES) as SparseRuleName[]
  const fitting = rules.map((rule) => weightsLayout(table.dim, rule)).filter((layout) => lineValues(layout) === count)
  const places = new Map(fitting.map((layout) => [JSON.stringify([layout.head, layout.tail]), layout]))
  return [...places.values()]
}

/** Weights of some rows as evaluation sees them, [rows, weights of a row], where they are others than those stored. */
export function currentWeights(
  table: SparseTable,
  optimizer: OptimizerSpec,
  steps: number,
  signs: DistinctSigns,
  rows: Uint8Array,
): Float32Array | undefined {
  if (!table.rule.clocked) {
    if (table.precision === 'float32') return undefined
    const weights = new Float32Array(signs.signs.length * table.weightShape.weights)
    readWeights(rows, signs.signs.length, table.weightShape, weights)
    return weights
  }
  const weights = new Float32Array(signs.signs.length * table.dim)
  table.lookup(signs, weights, false, stepFactors(optimizer, steps + 1))
  return weights
}
