/** @file What a run returns of a variable: its numbers in row-major order, which know their shape. */
import type { TensorData, TensorView } from '../engine/index.ts'

export type Fetched = TensorData & { readonly shape: readonly number[] }

/** A single number has the shape [1], as in fluid: `const [loss] = await exe.run(...)` and then `loss[0]`. */
export function fetchedArray({ data, dims }: TensorView): Fetched {
  return Object.assign(data, { shape: dims.length === 0 ? [1] : dims })
}
