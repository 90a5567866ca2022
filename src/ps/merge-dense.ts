/** @file Dense gradients and state of several contributions as one. */
import type { DenseLayout, Values } from '../params/index.ts'
import type { Program, StateSpec } from '../program/index.ts'

/** Where a state value lies in the slice, and how several workers' values become one. */
export interface StateRun {
  readonly from: number
  readonly to: number
  readonly merge: StateSpec['merge']
}

export function stateRuns({ state }: Program, { entries }: DenseLayout): readonly StateRun[] {
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
