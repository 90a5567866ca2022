/** @file A row of an accessor's table taken apart: for people who look at it and for tests. */
import { type AccessorConfig, ADMITTED, accessorRow, HAS_EMBEDX, readWeights } from '../../base/kernel/index.ts'

/** What is known of a sign. `embedx` is undefined until its score reaches the threshold. */
export interface AccessorRow {
  slot: number
  unseenDays: number
  deltaScore: number
  show: number
  click: number
  /** Batches that had the sign. */
  seen: number
  admitted: boolean
  readonly embed: PartState
  embedx?: PartState
}

export interface PartState {
  readonly weights: number[]
  readonly state: number[]
}

/** `bytes` is one whole row, as scan() gives it. */
export function readAccessorRow(config: AccessorConfig, bytes: Uint8Array): Readonly<AccessorRow> {
  const layout = accessorRow(config)
  const row = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const float = (at: number) => row.getFloat32(4 * at, true)
  const floats = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => float(from + i))
  const count = (i: number) =>
    layout.countFloats === 2 ? row.getFloat64(4 * layout.counts + 8 * i, true) : float(layout.counts + i)
  const weights = new Float32Array(layout.weights)
  readWeights(bytes, 1, { weights: layout.weights, rowBytes: 4 * layout.floats, precision: config.precision }, weights)
  const [flags, seen] = [3, 4].map((i) => row.getUint32(4 * (layout.stats + i), true)) as [number, number]
  const [slot = 0, unseenDays = 0, deltaScore = 0] = floats(layout.stats, layout.stats + 3)
  return {
    slot,
    unseenDays,
    deltaScore,
    seen,
    show: count(0),
    click: count(1),
    admitted: (flags & ADMITTED) > 0,
    embed: { weights: [weights[0]!], state: floats(layout.embedState, layout.embedxState) },
    ...((flags & HAS_EMBEDX) > 0 && {
      embedx: { weights: [...weights.subarray(1)], state: floats(layout.embedxState, layout.stats) },
    }),
  }
}
