/** @file Weights at the start of stored rows, taken out and put in: float32, or bfloat16 as assembly/segment-precision.ts lays them. */

/** How a row keeps its weights; its optimizer state is float32 in each. */
export const ROW_PRECISIONS = ['float32', 'bfloat16'] as const
export type RowPrecision = (typeof ROW_PRECISIONS)[number]

/** What is to be known of rows to find their weights. */
export interface WeightShape {
  /** Weights of a row: of an accessor's rows without show and click. */
  readonly weights: number
  readonly rowBytes: number
  readonly precision?: RowPrecision | undefined
}

/** Of rows in a table or a file. Show and click are columns of an embedding, but no weights. */
export function weightShape(table: {
  readonly dim: number
  readonly rowBytes: number
  readonly precision?: RowPrecision | undefined
  readonly accessor?: { readonly embedxDim: number } | undefined
}): WeightShape {
  const { dim, rowBytes, precision, accessor } = table
  return { weights: accessor ? 1 + accessor.embedxDim : dim, rowBytes, precision }
}

/** Bytes of a row's weights; what follows them lies at a multiple of four. */
export function weightBytes(weights: number, precision: RowPrecision = 'float32'): number {
  return precision === 'float32' ? 4 * weights : 4 * Math.ceil(weights / 2)
}

/** Copies the weights of the first `count` of `rows` to `out`, [count, weights]. */
export function readWeights(rows: Uint8Array, count: number, shape: WeightShape, out: Float32Array): void {
  const { weights, rowBytes, precision } = shape
  const words = wordsOf(rows, count * rowBytes)
  const each = rowBytes / 4
  if (precision !== 'bfloat16') {
    const floats = new Float32Array(words.buffer, words.byteOffset, words.length)
    for (let i = 0; i < count; i++) for (let j = 0; j < weights; j++) out[i * weights + j] = floats[i * each + j]!
    return
  }
  const bits = new Uint32Array(out.buffer, out.byteOffset, out.length)
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < weights; j++) {
      const two = words[i * each + (j >> 1)]!
      bits[i * weights + j] = j % 2 === 0 ? two << 16 : two & 0xffff0000
    }
  }
}

/** Puts weights ([count, weights]) into rows that lie at a multiple of four; what cannot be kept exactly goes to the nearest. */
export function writeWeights(weights: Float32Array, count: number, shape: WeightShape, rows: Uint8Array): void {
  const { weights: dim, rowBytes, precision } = shape
  if (precision !== 'bfloat16') {
    for (let i = 0; i < count; i++)
      new Float32Array(rows.buffer, rows.byteOffset + i * rowBytes, dim).set(weights.subarray(i * dim, (i + 1) * dim))
    return
  }
  const halves = new Uint16Array(rows.buffer, rows.byteOffset, (count * rowBytes) / 2)
  for (let i = 0; i < count; i++)
    for (let j = 0; j < dim; j++) halves[(i * rowBytes) / 2 + j] = nearestBfloat16(weights[i * dim + j]!)
}

/** The bits of the nearest bfloat16, of two as near the even one. */
export function nearestBfloat16(value: number): number {
  FLOAT[0] = value
  return Number.isNaN(value) ? 0x7fc0 : (FLOAT_BITS[0]! + 0x7fff + ((FLOAT_BITS[0]! >>> 16) & 1)) >>> 16
}

const FLOAT = new Float32Array(1)
const FLOAT_BITS = new Uint32Array(FLOAT.buffer)

/** Rows as words; of rows that lie anywhere, a copy. */
function wordsOf(rows: Uint8Array, bytes: number): Uint32Array {
  const { buffer, byteOffset } = rows.byteOffset % 4 === 0 ? rows : rows.slice(0, bytes)
  return new Uint32Array(buffer, byteOffset, bytes / 4)
}
