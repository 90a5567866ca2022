/** @file Where dense weights and state values lie in a block, whole or one server's part, and what they are at the beginning. */

import type { Program, StateSpec } from '../../graph/program/index.ts'
import type { OptimizerSpec } from '../optim/index.ts'
import { initialValues } from './init.ts'
import type { Values } from './params.ts'

/** Where a parameter or state value lies, in floats from the start of the block. */
export interface DenseEntry {
  readonly kind: 'parameter' | 'state'
  readonly name: string
  readonly shape: readonly number[]
  readonly at: number
  readonly size: number
  readonly trainable: boolean
  readonly l2: number
  /** Factor on the learning rate. */
  readonly rate: number
}

/** Trainable parameters come first, so that their gradients are one run; then fixed parameters; then state. */
export interface DenseLayout {
  readonly entries: readonly DenseEntry[]
  readonly floats: number
  /** Floats of the trainable part. */
  readonly trainable: number
}

export function denseLayout(program: Program, optimizer: OptimizerSpec): DenseLayout {
  const rank = ({ kind, trainable }: { kind: string; trainable: boolean }) => (kind === 'state' ? 2 : trainable ? 0 : 1)
  const items = [
    ...program.parameters.map(({ name, shape, trainable = true, l2 = optimizer.l2 ?? 0, learningRate = 1 }) => ({
      kind: 'parameter' as const,
      name,
      shape: shape as readonly number[],
      trainable,
      l2,
      rate: learningRate,
    })),
    ...program.state.map(({ name, shape }) => ({
      kind: 'state' as const,
      name,
      shape: shape as readonly number[],
      trainable: false,
      l2: 0,
      rate: 0,
    })),
  ].sort((a, b) => rank(a) - rank(b))
  let floats = 0
  const entries = items.map((item) => {
    const size = item.shape.reduce((product, dim) => product * dim, 1)
    const entry = { ...item, at: floats, size }
    floats += 4 * Math.ceil(size / 4) // not by bits, which wrap; every entry starts at a multiple of 16 bytes
    return entry
  })
  const fixed = entries.find((entry) => !entry.trainable)
  return { entries, floats, trainable: fixed ? fixed.at : floats }
}

/** Every weight and state value at its beginning, as the layout has them; or floats [from, to) of these, made without the others. */
export function initialDense(
  program: Program,
  { entries, floats }: DenseLayout,
  seed: number,
  { from, to }: Slice = { from: 0, to: floats },
): Float32Array {
  const values = new Float32Array(to - from)
  const inits = new Map([...program.parameters, ...program.state].map(({ name, init }) => [name, init]))
  for (const { name, shape, at, size } of entries) {
    const [first, last] = [Math.max(at, from), Math.min(at + size, to)]
    if (first >= last) continue
    values.set(initialValues(inits.get(name)!, shape, seed, name).subarray(first - at, last - at), first - from)
  }
  return values
}

/** The layout of floats [from, to): an entry that is cut appears with what is left of it, as a flat run. */
export function sliceLayout({ entries, trainable }: DenseLayout, from: number, to: number): DenseLayout {
  const inside = entries.flatMap((entry) => {
    const [first, last] = [Math.max(entry.at, from), Math.min(entry.at + entry.size, to)]
    if (first >= last) return []
    const size = last - first
    return [{ ...entry, at: first - from, size, shape: size === entry.size ? entry.shape : [size] }]
  })
  return { entries: inside, floats: to - from, trainable: Math.min(Math.max(trainable - from, 0), to - from) }
}

/** Part of a run of numbers: [from, to). */
export interface Slice {
  readonly from: number
  readonly to: number
}

/** The dense block cut over servers as Paddle cuts it: total / servers + 1 each, the last takes the rest. The `first` ones get nothing. */
export function denseSlices(total: number, servers: number, first = 0): readonly Slice[] {
  const each = Math.floor(total / (servers - first)) + 1
  const start = (server: number) => Math.min(total, Math.max(0, server - first) * each)
  return Array.from({ length: servers }, (_, s) => ({ from: start(s), to: s === servers - 1 ? total : start(s + 1) }))
}

/** Where a state value lies, and how the values of several workers become one. */
export interface StateRun extends Slice {
  readonly merge: StateSpec['merge']
}

export function stateRuns({ state }: Pick<Program, 'state'>, { entries }: DenseLayout): readonly StateRun[] {
  const rules = new Map(state.map(({ name, merge }) => [name, merge]))
  return entries.flatMap(({ kind, name, at, size }) =>
    kind === 'state' ? [{ from: at, to: at + size, merge: rules.get(name)! }] : [],
  )
}

/** Gradients as the weighted mean in the order given; state by its own rule, `before` being what all began with. */
export function mergeDense<V extends Values>(
  parts: readonly Values[],
  weights: readonly number[],
  states: readonly StateRun[],
  before: Values,
  into: V,
): V {
  into.fill(0)
  for (const [p, values] of parts.entries()) {
    const weight = weights[p]!
    for (let i = 0; i < into.length; i++) into[i]! += weight * values[i]!
  }
  for (const { from, to, merge } of states) {
    for (let i = from; i < to && merge !== 'mean'; i++) {
      const own = parts.map((values) => values[i]!)
      into[i] = merge === 'max' ? Math.max(...own) : own.reduce((sum, value) => sum + value - before[i]!, before[i]!)
    }
  }
  return into
}

/** Each weight and state value by its name, as parts of one array. */
export const namedWeights = ({ entries }: DenseLayout, all: Float32Array): ReadonlyMap<string, Float32Array> =>
  new Map(entries.map(({ name, at, size }) => [name, all.subarray(at, at + size)]))
