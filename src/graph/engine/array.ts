/** @file Dense arrays of the reference engine: every dtype as float64 or float32 numbers, row-major. Slow and plain. */

export interface DenseArray {
  readonly dims: readonly number[]
  readonly data: Float64Array | Float32Array
}

/** What a reference rule may ask: sizes of symbols and new arrays in the engine's precision. */
export interface Evaluation {
  size(dim: number | string): number
  /** A new array of zeros. */
  zeros(dims: readonly number[]): DenseArray
}

/** An array whose element at each coordinate is computed; `at` gets the coordinate (reused between calls). */
export function build(
  run: Evaluation,
  dims: readonly number[],
  at: (coordinate: readonly number[]) => number,
): DenseArray {
  const out = run.zeros(dims)
  const coordinate = new Array<number>(dims.length).fill(0)
  for (let i = 0; i < out.data.length; i++) {
    out.data[i] = at(coordinate)
    advance(coordinate, dims)
  }
  return out
}

/** Calls back for each element with its coordinate (reused between calls). */
export function each({ dims, data }: DenseArray, visit: (value: number, coordinate: readonly number[]) => void): void {
  const coordinate = new Array<number>(dims.length).fill(0)
  for (let i = 0; i < data.length; i++) {
    visit(data[i]!, coordinate)
    advance(coordinate, dims)
  }
}

/** The position of a coordinate; axes of size 1 (and missing leading ones) repeat, numpy's way. */
export function offset(dims: readonly number[], coordinate: readonly number[]): number {
  const skip = coordinate.length - dims.length
  let position = 0
  for (let i = 0; i < dims.length; i++) position = position * dims[i]! + (dims[i] === 1 ? 0 : coordinate[skip + i]!)
  return position
}

/** The element at a coordinate, broadcasting. */
export function read({ dims, data }: DenseArray, coordinate: readonly number[]): number {
  return data[offset(dims, coordinate)]!
}

/** The dims that several operands broadcast to. */
export function broadcastDims(arrays: readonly DenseArray[]): number[] {
  const rank = Math.max(...arrays.map(({ dims }) => dims.length))
  return Array.from({ length: rank }, (_, i) =>
    arrays.reduce((size, { dims }) => {
      const dim = dims[dims.length - rank + i] ?? 1
      return dim === 1 ? size : dim
    }, 1),
  )
}

/** Reduces over axes (kept at size 1): folds each group's values. */
export function reduce(
  run: Evaluation,
  x: DenseArray,
  axes: readonly number[],
  fold: (values: readonly number[]) => number,
): DenseArray {
  const dims = x.dims.map((dim, i) => (axes.includes(i) ? 1 : dim))
  const groups = Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (): number[] => [])
  each(x, (value, coordinate) => groups[offset(dims, coordinate)]!.push(value))
  const out = run.zeros(dims)
  groups.forEach((values, i) => {
    out.data[i] = fold(values)
  })
  return out
}

function advance(coordinate: number[], dims: readonly number[]): void {
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    if (++coordinate[axis]! < dims[axis]!) return
    coordinate[axis] = 0
  }
}
