/** @file How an op or a layer is put to the test: small operands, a program around it, values for one run. */

import { createRng } from '../../src/base/util/index.ts'
import type { TensorView } from '../../src/graph/engine/index.ts'
import {
  add,
  Builder,
  cast,
  evaluateDim,
  mul,
  type Program,
  programInputs,
  type Shape,
  square,
  sum,
  type Tensor,
} from '../../src/graph/program/index.ts'

/** Sizes a case is tried at: the symbols B and T, and numbers known when it is built. */
export interface Sizes {
  readonly B: number
  readonly T: number
  readonly m: number
  readonly n: number
  readonly k: number
}
export const SIZES: Sizes = { B: 3, T: 4, m: 2, n: 5, k: 3 }

export interface OpCase {
  /** Float operands x0, x1, ...: [B, n] and [B, T, n] become rows, others parameters. */
  readonly shapes: (sizes: Sizes) => readonly Shape[]
  /** int64 feeds i0, i1, ... with values below `below`. */
  readonly ints?: (sizes: Sizes) => readonly { readonly shape: Shape; readonly below: number }[]
  readonly build: (operands: readonly Tensor[], ints: readonly Tensor[], sizes: Sizes) => Tensor
  /** Operands are drawn from here. @default [-2, 2] */
  readonly range?: readonly [number, number]
  /** false: the op passes no gradient. @default true */
  readonly differentiable?: boolean
  /** false: finite differences see more than the gradient is meant to (stop_gradient). @default true */
  readonly numeric?: boolean
}

const SYMBOLS: Readonly<Record<string, string>> = { T: 'T_s0' }

/** A program with the fetches y (float32) and loss = sum(y^2 / 2 + y), whose gradient differs from element to element. */
export function caseProgram(test: OpCase, sizes: Sizes): Program {
  const builder = new Builder()
  const operands = test.shapes(sizes).map((shape, i) => declare(builder, `x${i}`, shape))
  const ints = (test.ints?.(sizes) ?? []).map(({ shape }, i) => builder.feed(`i${i}`, shape, 'int64'))
  const y = cast(test.build(operands, ints, sizes), 'float32')
  return builder.build({ y, loss: sum(add(mul(square(y), 0.5), y)) })
}

/** Values for every input, drawn from a seed. */
export function caseInputs(program: Program, test: OpCase, sizes: Sizes, seed: number): Record<string, TensorView> {
  const rng = createRng(BigInt(seed))
  const [low, high] = test.range ?? [-2, 2]
  const values = programInputs(program).map(({ name, shape, dtype }) => {
    const dims = shape.map((dim) => evaluateDim(dim, (symbol) => (symbol === 'B' ? sizes.B : sizes.T)))
    const length = dims.reduce((a, b) => a * b, 1)
    if (dtype === 'int32') return [name, { dims, data: new Int32Array(length).fill(seed) }] as const
    if (dtype === 'int64') {
      const below = test.ints!(sizes)[Number(name.slice(1))]!.below
      return [name, { dims, data: BigInt64Array.from({ length }, () => BigInt(rng.below(below))) }] as const
    }
    const draw = name.endsWith('.mask')
      ? (i: number) => Number(i % dims[1]! < 1 + (Math.floor(i / dims[1]!) % dims[1]!))
      : () => low + (high - low) * rng.uniform()
    // Doubles that float32 holds exactly, so that every engine starts from the same numbers.
    return [name, { dims, data: Float64Array.from({ length }, (_, i) => Math.fround(draw(i))) }] as const
  })
  return Object.fromEntries(values)
}

/** The same inputs as float32 buffers, for engines that take no others. */
export function asFloat32(inputs: Readonly<Record<string, TensorView>>): Record<string, TensorView> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { dims, data }]) => [
      name,
      { dims, data: data instanceof Float64Array ? Float32Array.from(data) : data },
    ]),
  )
}

function declare(builder: Builder, name: string, shape: Shape): Tensor {
  const init = { kind: 'zeros' } as const
  const dims = shape.map((dim) => (typeof dim === 'string' ? (SYMBOLS[dim] ?? dim) : dim))
  if (dims[0] !== 'B') return builder.parameter({ name, shape: dims as number[], init })
  const [dim, sequence] = [Number(dims.at(-1)), dims.length === 3]
  const length = sequence && typeof dims[1] === 'number' ? { length: dims[1] } : {}
  return builder.rows({
    name,
    table: name,
    slots: [sequence ? 's0' : name],
    dim,
    pooling: sequence ? 'sequence' : 'sum',
    init,
    ...length,
  })
}
