/** @file What the op functions share: constants, numbers as operands, axes counted from either end. */
import { UserError } from '../../base/util/index.ts'
import type { Builder, Tensor } from './builder.ts'
import { formatShape, type Shape } from './dim.ts'
import type { DType, Op, OpAttributes, OpKind } from './op.ts'

/** A tensor, or a number that takes the other operand's dtype. */
export type Operand = Tensor | number

/** Kinds without attributes. */
export type PlainKind = { [K in OpKind]: Record<never, never> extends OpAttributes[K] ? K : never }[OpKind]

/** The function of an op with one operand. */
export function unary<K extends PlainKind>(kind: K): (x: Tensor) => Tensor {
  return (x) => tensorOf(x, kind).builder.emit({ kind } as Op<K>, [x])
}

/** The operand itself; throws where it is something else, which types would have refused. */
export function tensorOf(x: Tensor, op: string): Tensor {
  if (typeof x === 'object' && x !== null && 'builder' in x && 'shape' in x) return x
  const isSlot = typeof x === 'object' && x !== null && (x as { kind?: unknown }).kind === 'sparse'
  const slot = isSlot ? (x as { readonly name: string }).name : ''
  const shown = isSlot
    ? `the sparse slot "${slot}"`
    : Array.isArray(x)
      ? 'a list'
      : typeof x === 'object'
        ? 'an object'
        : String(x)
  throw new UserError(`${op} was given ${shown}, which is no tensor.`, {
    code: 'PROGRAM_OPERAND',
    hint: isSlot
      ? `Look its rows up first: nn.embedding(${slot}, { name: '${slot}', dim: 8 })`
      : x === undefined
        ? 'The name there has no value: check how it is spelt, and what it is taken from.'
        : 'Give what an input, a layer or another op returned.',
  })
}

/** The function of an op with two operands; one may be a number. */
export function binary<K extends PlainKind>(kind: K): (a: Operand, b: Operand) => Tensor {
  return (a, b) => {
    const [left, right] = promote(a, b)
    return left.builder.emit({ kind } as Op<K>, [left, right])
  }
}

/** A constant: a number, or values in row-major order with their shape. */
export function constant(
  builder: Builder,
  values: number | readonly number[],
  { shape = [], dtype = 'float32' }: { shape?: readonly number[]; dtype?: DType } = {},
): Tensor {
  return builder.emit({ kind: 'constant', values: typeof values === 'number' ? [values] : values, shape, dtype }, [])
}

/** The element count of a shape as a float scalar: a constant where it is known now. */
export function count(builder: Builder, dims: Shape): Tensor {
  const known = dims.filter((dim) => typeof dim === 'number').reduce((product, dim) => product * dim, 1)
  if (dims.every((dim) => typeof dim === 'number')) return constant(builder, known)
  return builder.emit({ kind: 'count', dims: dims.filter((dim) => dim !== 1) }, [])
}

/** int32 0, 1, .. size - 1. */
export function iota(builder: Builder, size: number): Tensor {
  return builder.emit({ kind: 'iota', size }, [])
}

/** Both operands as tensors of one builder. */
export function promote(a: Operand, b: Operand): [Tensor, Tensor] {
  for (const operand of [a, b]) if (typeof operand !== 'number') tensorOf(operand, 'The op')
  if (typeof a !== 'number') return [a, typeof b === 'number' ? constant(a.builder, b, { dtype: a.dtype }) : b]
  if (typeof b !== 'number') return [constant(b.builder, a, { dtype: b.dtype }), b]
  throw new UserError('An op was given two numbers.', {
    code: 'PROGRAM_OPERAND',
    hint: 'Compute with plain numbers yourself.',
  })
}

/** `axis` counted from the front, checked against the tensor. */
export function axisOf({ shape }: { readonly shape: Shape }, axis: number): number {
  const positive = axis < 0 ? axis + shape.length : axis
  if (Number.isInteger(positive) && positive >= 0 && positive < shape.length) return positive
  const hint = shape.length === 0 ? 'A scalar has no axes.' : `Use ${-shape.length} to ${shape.length - 1}.`
  throw new UserError(`Axis ${axis} does not exist in ${formatShape(shape)}.`, { code: 'PROGRAM_AXIS', hint })
}
