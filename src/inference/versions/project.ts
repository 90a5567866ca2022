/** @file What of a trainer's rows is published, and as what: admitted rows worth serving, as a lookup gives them. */
import { type AccessorConfig, ADMITTED, accessorRow, leadingColumns } from '../../base/kernel/index.ts'

/** A table's rows as they are stored. */
export interface StoredTable {
  readonly dim: number
  readonly rowBytes: number
  readonly accessor?: AccessorConfig | undefined
}

/** Writes what a lookup gives of row `i` to `out`; false: the row is not published. */
export type Projection = (rows: Uint8Array, i: number, out: Float32Array) => boolean

/** Rows of an accessor's table count from base_threshold on, unless they were unseen for long; of other tables all do. */
export function projection(table: StoredTable): Projection {
  const { dim, rowBytes, accessor } = table
  const viewOf = blockView()
  if (!accessor)
    return (rows, i, out) => {
      const [view, at] = [viewOf(rows), i * rowBytes]
      for (let j = 0; j < dim; j++) out[j] = view.getFloat32(at + 4 * j, true)
      return true
    }
  const { stats, counts, countFloats, weights } = accessorRow(accessor)
  const leading = leadingColumns(accessor)
  const { nonclkCoeff, clickCoeff, baseThreshold, deltaKeepDays } = accessor
  return (rows, i, out) => {
    const [row, at] = [viewOf(rows), i * rowBytes]
    if ((row.getUint32(at + 4 * (stats + 3), true) & ADMITTED) === 0) return false
    const count = (k: number) =>
      countFloats === 2 ? row.getFloat64(at + 4 * counts + 8 * k, true) : row.getFloat32(at + 4 * (counts + k), true)
    const [show, click] = [count(0), count(1)]
    const score = (show - click) * nonclkCoeff + click * clickCoeff
    if (!(score >= baseThreshold) || row.getFloat32(at + 4 * (stats + 1), true) > deltaKeepDays) return false
    if (leading === 2) {
      out[0] = show
      out[1] = click
    }
    for (let j = 0; j < weights; j++) out[leading + j] = row.getFloat32(at + 4 * j, true)
    return true
  }
}

/** Rows come in blocks: one view for all of a block. */
function blockView(): (rows: Uint8Array) => DataView {
  let block: Uint8Array | undefined
  let view: DataView = new DataView(new ArrayBuffer(0))
  return (rows) => {
    if (rows !== block) view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength)
    block = rows
    return view
  }
}
