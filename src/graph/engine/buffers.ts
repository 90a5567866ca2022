/** @file Buffers by dtype, and the check that what is fed fits the program. */

import { UserError } from '../../base/util/index.ts'
import { type DType, evaluateDim, formatShape, type Program, programInputs, type Shape } from '../program/index.ts'
import type { TensorData, TensorView } from './engine.ts'

/** The typed array of each dtype. */
export const DATA_ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  int32: Int32Array,
  bool: Uint8Array,
} satisfies Record<DType, unknown>

export function createData(dtype: DType, length: number): TensorData {
  return new DATA_ARRAYS[dtype](length)
}

/** Zeros for what a program fetches, as large as these inputs make it. */
export function emptyOutputs(
  program: Program,
  inputs: Readonly<Record<string, TensorView>>,
): Record<string, TensorView> {
  const sizes = checkInputs(program, inputs)
  const outputs = program.fetches.map(({ name, shape, dtype }) => {
    const dims = dimsOf(shape, sizes)
    const length = dims.reduce((product, dim) => product * dim, 1)
    return [name, { dims, data: createData(dtype, length) }] as const
  })
  return Object.fromEntries(outputs)
}

/** The size of every symbol, read from the dims of what is fed; throws where inputs are missing or disagree. */
export function checkInputs(
  program: Program,
  inputs: Readonly<Record<string, TensorView>>,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  for (const { name, shape } of programInputs(program)) {
    const view = inputs[name]
    if (!view)
      throw new UserError(`The program's input "${name}" was not given.`, {
        code: 'ENGINE_INPUT',
        hint: `Pass a tensor of the shape ${formatShape(shape)}.`,
      })
    if (view.dims.length !== shape.length) throw mismatch(name, shape, view)
    for (const [i, dim] of shape.entries()) {
      if (typeof dim === 'string' && !sizes.has(dim)) sizes.set(dim, view.dims[i]!)
      if (view.dims[i] !== evaluateDim(dim, (symbol) => sizes.get(symbol)!)) throw mismatch(name, shape, view)
    }
    if (view.data.length !== view.dims.reduce((a, b) => a * b, 1)) {
      throw new UserError(`Input "${name}" has ${view.data.length} elements, not those of ${formatShape(view.dims)}.`, {
        code: 'ENGINE_INPUT',
        hint: 'Pass a view of exactly that many elements.',
      })
    }
  }
  return sizes
}

/** The dims of a shape when the symbols' sizes are known. */
export function dimsOf(shape: Shape, sizes: ReadonlyMap<string, number>): number[] {
  return shape.map((dim) => evaluateDim(dim, (symbol) => sizes.get(symbol)!))
}

function mismatch(name: string, shape: Shape, { dims }: TensorView): UserError {
  return new UserError(`Input "${name}" is ${formatShape(dims)}, which does not fit ${formatShape(shape)}.`, {
    code: 'ENGINE_INPUT',
    hint: 'A symbol has one size in all inputs of a run.',
  })
}
