/** @file Layers over tensors: fully connected, joining, casting, reducing, elementwise. */

import { UserError } from '../../../base/util/index.ts'
import { ACTIVATIONS, type Activation, affine } from '../../../graph/nn/index.ts'
import {
  add,
  cast as castTo,
  concat as concatTensors,
  type DType,
  mean as meanOf,
  mul,
  type Operand,
  reshape,
  slice,
  sub,
  sum,
  type Tensor,
} from '../../../graph/program/index.ts'
import { type ParamAttr, parameterOf } from '../attr.ts'
import { otherProgram } from '../errors.ts'
import type { Program } from '../program.ts'
import { pooledRows, type Source, tensorOf, type Variable, variableOf } from '../variable.ts'

export interface FcOptions {
  /** Of several inputs the products are added up. */
  readonly input: Variable | readonly Variable[]
  /** Columns of the result. */
  readonly size: number
  /** The dimensions that stay; the others become one. @default 1 */
  readonly numFlattenDims?: number
  /** Xavier uniform unless it says otherwise. */
  readonly paramAttr?: ParamAttr
  /** false: no bias. @default zeros */
  readonly biasAttr?: ParamAttr | false
  readonly act?: Activation | null
  readonly name?: string
}

/** act(input * w + b) */
export function fc({ input, size, numFlattenDims = 1, paramAttr, biasAttr, act, name: given }: FcOptions): Variable {
  const inputs = [input].flat() as readonly Variable[]
  const program = programOf(inputs)
  const name = given ?? program.uniqueName('fc')
  const products = inputs.map((one, i) => {
    const x = flattened(tensorOf(one), numFlattenDims)
    const attr = parameterOf(paramAttr, `${name}.w_${i}`, { kind: 'xavier_uniform' })
    const shared = inputs.length > 1 && attr.name !== `${name}.w_${i}` ? { ...attr, name: `${attr.name}_${i}` } : attr
    const weight = program.parameter({ ...shared, shape: [Number(x.shape.at(-1)), size] })
    return { x, weight }
  })
  const bias =
    biasAttr === false
      ? undefined
      : program.parameter({ ...parameterOf(biasAttr, `${name}.b_0`, { kind: 'zeros' }), shape: [size] })
  const [first, ...others] = products
  const straight = affine(first!.x, first!.weight, bias)
  const y = others.reduce((total, { x, weight }) => add(total, affine(x, weight)), straight)
  return variableOf(program, `${name}.tmp_0`, act ? ACTIVATIONS[act](y) : y)
}

/** Inputs side by side. Pooled embeddings of one table that stand next to each other are looked up at once. */
export function concat({ input, axis = 0 }: { readonly input: readonly Variable[]; readonly axis?: number }): Variable {
  const program = programOf(input)
  const name = program.uniqueName('concat')
  const tensors = axis === 1 || axis === -1 ? joinLookups(program, name, input) : input.map(tensorOf)
  return variableOf(program, `${name}.tmp_0`, concatTensors(tensors, axis))
}

export function cast({ x, dtype }: { readonly x: Variable; readonly dtype: DType }): Variable {
  return variableOf(x.program, x.program.uniqueName('cast'), castTo(tensorOf(x), dtype))
}

export interface ReduceOptions {
  readonly input: Variable
  /** @default all */
  readonly dim?: number | readonly number[]
  readonly keepDim?: boolean
}

export function reduceSum({ input, dim, keepDim = false }: ReduceOptions): Variable {
  return variableOf(input.program, input.program.uniqueName('reduce_sum'), sum(tensorOf(input), dim, keepDim))
}

export function reduceMean({ input, dim, keepDim = false }: ReduceOptions): Variable {
  return variableOf(input.program, input.program.uniqueName('reduce_mean'), meanOf(tensorOf(input), dim, keepDim))
}

/** Over everything: one number. */
export function mean(x: Variable): Variable {
  return variableOf(x.program, x.program.uniqueName('mean'), meanOf(tensorOf(x)))
}

type Binary = { readonly x: Variable; readonly y: Variable | number; readonly act?: Activation }

export const elementwiseAdd = elementwise('elementwise_add', add)
export const elementwiseSub = elementwise('elementwise_sub', sub)
export const elementwiseMul = elementwise('elementwise_mul', mul)

function elementwise(kind: string, op: (a: Operand, b: Operand) => Tensor) {
  return ({ x, y, act }: Binary): Variable => {
    const result = op(tensorOf(x), typeof y === 'number' ? y : tensorOf(y))
    return variableOf(x.program, x.program.uniqueName(kind), act ? ACTIVATIONS[act](result) : result)
  }
}

export const relu = activation('relu')
export const sigmoid = activation('sigmoid')
export const tanh = activation('tanh')
export const softmax = activation('softmax')

function activation(kind: Activation) {
  return (x: Variable): Variable => variableOf(x.program, x.program.uniqueName(kind), ACTIVATIONS[kind](tensorOf(x)))
}

export function programOf(variables: readonly Variable[]): Program {
  const [first] = variables
  if (!first) throw new UserError('a layer was given no inputs', { code: 'FLUID_INPUT', hint: 'pass at least one' })
  const other = variables.find(({ program }) => program !== first.program)
  if (other) throw otherProgram(first.name, other.name)
  return first.program
}

function flattened(x: Tensor, dims: number): Tensor {
  return x.shape.length <= dims + 1 ? x : reshape(x, [...x.shape.slice(0, dims), -1])
}

/** The inputs as tensors; runs of pooled rows that nobody has asked for yet become one lookup, as fast as a single embedding. */
function joinLookups(program: Program, name: string, input: readonly Variable[]): Tensor[] {
  const tensors: Tensor[] = []
  for (let from = 0; from < input.length; ) {
    let to = from
    while (to < input.length && goesWith(input[from]!, input[to]!) && !input.slice(from, to).includes(input[to]!)) to++
    if (to - from < 2) tensors.push(tensorOf(input[from++]!))
    else {
      tensors.push(lookedUpTogether(program, `${name}.rows_${tensors.length}`, input.slice(from, to)))
      from = to
    }
  }
  return tensors
}

function goesWith({ source: a, settled }: Variable, { source: b, settled: other }: Variable): boolean {
  if (a.kind !== 'pooled' || b.kind !== 'pooled' || settled || other) return false
  return a.lookup.table === b.lookup.table && a.pooling === b.pooling
}

function lookedUpTogether(program: Program, name: string, run: readonly Variable[]): Tensor {
  const sources = run.map(({ source }) => source as Extract<Source, { kind: 'pooled' }>)
  const rows = pooledRows(program, name, sources)
  const { dim } = sources[0]!.lookup
  for (const [i, variable] of run.entries())
    variable.settled = { kind: 'tensor', tensor: slice(rows, 1, i * dim, (i + 1) * dim) }
  return rows
}
