/** @file Removes what exact-shaped gradient rules leave behind: copies that broadcasting makes needless, ones and zeros. */
import {
  type Builder,
  broadcast,
  constant,
  expand,
  gemm,
  type OpKind,
  type Program,
  type Shape,
  sameShape,
  sizeOf,
  slice,
  type Tensor,
} from '../program/index.ts'
import { type Candidate, rebuild } from './rebuild.ts'

export function simplify(program: Program): Program {
  return rebuild(program, {
    rewrite: (candidate, builder) => (REWRITES[candidate.op.kind] as Rewrite<OpKind> | undefined)?.(candidate, builder),
  })
}

type Rewrite<K extends OpKind> = (candidate: Candidate<K>, builder: Builder) => Tensor | undefined

type Arithmetic = 'add' | 'sub' | 'mul' | 'div'

const REWRITES: { readonly [K in OpKind]?: Rewrite<K> } = {
  // x + 0, x * 1, x / 1 are x; two constants are computed now
  add: (candidate, builder) => fold(candidate, (a, b) => a + b) ?? neutral(candidate, 0) ?? shrink(candidate, builder),
  sub: (candidate, builder) => fold(candidate, (a, b) => a - b) ?? shrink(candidate, builder),
  mul: (candidate, builder) => fold(candidate, (a, b) => a * b) ?? neutral(candidate, 1) ?? shrink(candidate, builder),
  div: (candidate, builder) =>
    fold(candidate, (a, b) => a / b) ?? neutral(candidate, 1, [1]) ?? shrink(candidate, builder),
  neg: shrink,

  // reshaping or expanding one constant is that constant in another shape
  reshape: ({ op, inputs: [x] }, builder) => {
    const value = scalarOf(x)
    if (value !== undefined && isSingle(op.shape)) return constant(builder, value, { shape: op.shape, dtype: x.dtype })
    const inner = builder.definition(x)
    if (inner?.op.kind !== 'reshape') return undefined
    const [source] = inner.inputs
    return sameShape(source!.shape, op.shape) ? source : builder.emit(op, [source!])
  },
  expand: ({ op, inputs: [x] }) => (sameShape(x.shape, op.shape) ? x : undefined),

  // columns of a product need only those columns of the weight
  slice: ({ op, inputs: [x], uses }, builder) => {
    const inner = builder.definition(x)
    if (inner?.op.kind !== 'gemm' || op.axis !== 1 || uses(0) !== 1) return undefined
    const [a, b, bias] = inner.inputs
    const { transposeA, transposeB } = inner.op
    const columns = slice(b!, transposeB ? 0 : 1, op.start, op.end)
    return bias ? undefined : gemm(a!, columns, { transposeA, transposeB })
  },
}

/** Both operands float scalar constants: the result now. */
function fold(
  { inputs: [a, b] }: Candidate<Arithmetic>,
  compute: (a: number, b: number) => number,
): Tensor | undefined {
  const [left, right] = [scalarOf(a), scalarOf(b)]
  if (left === undefined || right === undefined || !a.dtype.startsWith('float')) return undefined
  const shape = broadcast(a.shape, b.shape)
  return isSingle(shape) ? constant(a.builder, compute(left, right), { shape, dtype: a.dtype }) : undefined
}

/** The other operand where one is the neutral value and adds nothing to the shape. */
function neutral(
  { inputs }: Candidate<Arithmetic>,
  value: number,
  positions: readonly number[] = [0, 1],
): Tensor | undefined {
  for (const position of positions) {
    const [candidate, other] = [inputs[position]!, inputs[1 - position]!]
    if (scalarOf(unexpanded(candidate)) === value && sameShape(broadcast(candidate.shape, other.shape), other.shape))
      return other
  }
  return undefined
}

/**
 * Elementwise ops broadcast by themselves, so an operand that was only copied to the other's shape is used as it was;
 * where all of them were copies, the result is computed small and copied after.
 */
function shrink({ op, inputs }: Candidate<Arithmetic | 'neg'>, builder: Builder): Tensor | undefined {
  const shapeOf = (operands: readonly Tensor[]) => operands.map(({ shape }) => shape).reduce(broadcast)
  const full = shapeOf(inputs)
  const originals = inputs.map(unexpanded)
  if (!sameShape(shapeOf(originals), full)) return expand(builder.emit(op, originals), full)
  return builder.emit(op, originals)
}

/** What a tensor was before it was expanded, and before one number was reshaped. */
function unexpanded(tensor: Tensor): Tensor {
  const inner = tensor.builder.definition(tensor)
  const [source] = inner?.inputs ?? []
  const copies = inner?.op.kind === 'expand' || (inner?.op.kind === 'reshape' && sizeOf(tensor.shape) === 1)
  return copies ? unexpanded(source!) : tensor
}

/** The value of a constant of one element. */
function scalarOf(tensor: Tensor): number | undefined {
  const op = tensor.builder.definition(tensor)?.op
  return op?.kind === 'constant' && op.values.length === 1 ? op.values[0] : undefined
}

function isSingle(shape: Shape): shape is readonly number[] {
  return sizeOf(shape) === 1
}
