/** @file What of a trainer's rows is published, and as what: admitted rows worth serving, as a lookup gives them. */
import {
  type AccessorConfig,
  ADMITTED,
  accessorRow,
  leadingColumns,
  type RowPrecision,
  readWeights,
  weightShape,
} from '../../base/kernel/index.ts'

/** A table's rows as they are stored. */
export interface StoredTable {
  readonly dim: number
  readonly rowBytes: number
  readonly precision: RowPrecision
  readonly accessor?: AccessorConfig | undefined
}

/** Writes what a lookup gives of `count` rows to `out` ([count, dim]), and to `kept` 1 for those that are published. */
export type Projection = (rows: Uint8Array, count: number, out: Float32Array, kept: Uint8Array) => void

/** Rows of an accessor's table count from base_threshold on, unless they were unseen for long; of other tables all do. */
export function projection(table: StoredTable): Projection {
  const { dim, rowBytes, accessor } = table
  const shape = weightShape(table)
  if (!accessor)
    return (rows, count, out, kept) => {
      readWeights(rows, count, shape, out)
      kept.fill(1, 0, count)
    }
  const { stats, counts, countFloats, weights } = accessorRow(accessor)
  const leading = leadingColumns(accessor)
  const { nonclkCoeff, clickCoeff, baseThreshold, deltaKeepDays } = accessor
  return (rows, count, out, kept) => {
    const view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength)
    const all = new Float32Array(count * weights)
    readWeights(rows, count, shape, all)
    for (let i = 0; i < count; i++) {
      const [at, to] = [i * rowBytes, i * dim]
      kept[i] = 0
      if ((view.getUint32(at + 4 * (stats + 3), true) & ADMITTED) === 0) continue
      const countAt = (k: number) =>
        countFloats === 2
          ? view.getFloat64(at + 4 * counts + 8 * k, true)
          : view.getFloat32(at + 4 * (counts + k), true)
      const [show, click] = [countAt(0), countAt(1)]
      const score = (show - click) * nonclkCoeff + click * clickCoeff
      if (!(score >= baseThreshold) || view.getFloat32(at + 4 * (stats + 1), true) > deltaKeepDays) continue
      kept[i] = 1
      if (leading === 2) {
        out[to] = show
        out[to + 1] = click
      }
      for (let j = 0; j < weights; j++) out[to + leading + j] = all[i * weights + j]!
    }
  }
}
