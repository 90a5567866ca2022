/** @file A slow engine that does what the ops mean, in float32 or float64: the yardstick of every other engine and gradient. */
import {
  type DType,
  evaluateDim,
  type Node,
  type OpKind,
  operandsOf,
  type Program,
  programInputs,
} from '../program/index.ts'
import type { DenseArray, Evaluation } from './array.ts'
import { checkInputs, createData } from './buffers.ts'
import type { Engine, Session, TensorView } from './engine.ts'
import { REFERENCE_RULES, type ReferenceRule } from './reference-rules.ts'

export interface ReferenceOptions {
  /** float64 computes float32 programs in double precision: for finite differences. Integers are exact up to 2^53. */
  readonly precision?: 'float32' | 'float64' | undefined
}

export function referenceEngine({ precision = 'float32' }: ReferenceOptions = {}): Engine {
  return { name: `reference-${precision}`, compile: async (program) => referenceSession(program, precision) }
}

function referenceSession(program: Program, precision: 'float32' | 'float64'): Session {
  const run: Session['run'] = async (inputs) => {
    const values = evaluate(program, inputs, precision)
    const fetched = program.fetches.map(
      ({ name, value, dtype }) => [name, toView(values.get(value)!, dtype, precision)] as const,
    )
    return Object.fromEntries(fetched)
  }
  return {
    run,
    bind: (inputs, outputs) => ({
      run: async () => {
        const results = await run(inputs)
        for (const [name, { data }] of Object.entries(outputs))
          (data as Float64Array).set(results[name]!.data as Float64Array)
      },
    }),
    close: async () => {},
  }
}

/** A value that is no number, or infinite: of an input, or of an op whose operands are all finite. */
export interface NotFinite {
  /** The input's name; undefined for an op. */
  readonly input: string | undefined
  readonly node: Node | undefined
  readonly value: DenseArray
  /** Where in it the first one stands. */
  readonly at: number
  readonly operands: readonly DenseArray[]
}

/** The first value of a program that is not finite, found by computing op by op. */
export function firstNotFinite(program: Program, inputs: Readonly<Record<string, TensorView>>): NotFinite | undefined {
  let found: NotFinite | undefined
  const names = new Map(programInputs(program).map(({ name, value }) => [value, name]))
  evaluate(program, inputs, 'float32', (id, value, node, operands) => {
    const at = value.data.findIndex((number: number) => !Number.isFinite(number))
    if (at < 0) return true
    found = { input: names.get(id), node, value, at, operands }
    return false
  })
  return found
}

/** Sees each value as it is known; false ends the evaluation. */
type Look = (id: number, value: DenseArray, node: Node | undefined, operands: readonly DenseArray[]) => boolean

function evaluate(
  program: Program,
  inputs: Readonly<Record<string, TensorView>>,
  precision: 'float32' | 'float64',
  look: Look = () => true,
): ReadonlyMap<number, DenseArray> {
  const sizes = checkInputs(program, inputs)
  const size: Evaluation['size'] = (dim) => evaluateDim(dim, (symbol) => sizes.get(symbol)!)
  const evaluation = (Data: typeof Float32Array | typeof Float64Array): Evaluation => ({
    size,
    zeros: (dims) => ({ dims, data: new Data(dims.reduce((a, b) => a * b, 1)) }),
  })
  // Integers stay exact in doubles whatever the precision of floats.
  const [singles, doubles] = [evaluation(Float32Array), evaluation(Float64Array)]
  const values = new Map<number, DenseArray>()
  for (const { name, value } of programInputs(program)) {
    const { dims, data } = inputs[name]!
    const own = { dims, data: Float64Array.from(data as ArrayLike<number | bigint>, Number) }
    values.set(value, own)
    if (!look(value, own, undefined, [])) return values
  }
  for (const node of program.nodes) {
    const run = precision === 'float32' && node.dtype === 'float32' ? singles : doubles
    const rule = REFERENCE_RULES[node.op.kind] as ReferenceRule<OpKind>
    const operands = operandsOf(node, (id) => values.get(id)!)
    const value = rule(run, operands, node.op)
    values.set(node.value, value)
    if (!look(node.value, value, node, operands as readonly DenseArray[])) return values
  }
  return values
}

function toView({ dims, data }: DenseArray, dtype: DType, precision: 'float32' | 'float64'): TensorView {
  const out = createData(dtype === 'float32' ? precision : dtype, data.length)
  for (let i = 0; i < data.length; i++) out[i] = out instanceof BigInt64Array ? BigInt(data[i]!) : data[i]!
  return { dims, data: out }
}
