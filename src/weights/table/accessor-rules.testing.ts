/** @file The rules of assembly/accessor-rules.ts as plain arithmetic: what the kernel is compared with. */
import { type SparseRule, stateFloats } from '../../base/kernel/index.ts'

/** Weights or state of one part of a row; what is stored is rounded by `store`: to float32 as the kernel does, or not at all. */
export type Round = (value: number) => number

/** State of weights that were never updated. */
export function initialState({ name, beta1, beta2 }: SparseRule, n: number, store: Round): number[] {
  const state = new Array<number>(stateFloats(name, n)).fill(0)
  if (name.includes('Adam')) state.splice(-2, 2, store(beta1), store(beta2))
  return state
}

/** Weight number j of a row from two 24-bit halves of random bits. */
export function boundedTo({ bounds: [low, high] }: SparseRule, value: number, store: Round): number {
  return store(Math.max(low, Math.min(high, value)))
}

/** Changes `weights` and `state` in place. Gradients are scaled already; the AdaGrad rules divide them by `show`. */
export const applySparseRule: Apply = (rule, ...args) => APPLY[rule.name](rule, ...args)

type Apply = (
  rule: SparseRule,
  weights: number[],
  state: number[],
  gradients: readonly number[],
  show: number,
  store: Round,
) => void

const APPLY: { readonly [R in SparseRule['name']]: Apply } = {
  SparseNaiveSGDRule(rule, weights, _state, gradients, _show, store) {
    for (const [i, g] of gradients.entries()) move(rule, weights, i, rule.learningRate * g, store)
  },
  SparseAdaGradSGDRule(rule, weights, state, gradients, show, store) {
    const before = state[0]!
    const factor = rule.learningRate * Math.sqrt(rule.initialG2sum / (rule.initialG2sum + before))
    for (const [i, g] of gradients.entries()) move(rule, weights, i, factor * (g / show), store)
    state[0] = store(before + sumSquares(gradients, show) / gradients.length)
  },
  StdAdaGradSGDRule(rule, weights, state, gradients, show, store) {
    for (const [i, g] of gradients.entries()) {
      const x = g / show
      const step = rule.learningRate * x * Math.sqrt(rule.initialG2sum / (rule.initialG2sum + state[i]!))
      move(rule, weights, i, step, store)
      state[i] = store(state[i]! + x * x)
    }
  },
  SparseAdaGradV2SGDRule(rule, weights, state, gradients, show, store) {
    state[0] = store(state[0]! + sumSquares(gradients, show) / gradients.length)
    const factor = rule.learningRate / (Math.sqrt(state[0]!) + 1e-8)
    for (const [i, g] of gradients.entries()) move(rule, weights, i, factor * (g / show), store)
  },
  SparseAdamSGDRule(rule, weights, state, gradients, _show, store) {
    const n = gradients.length
    const { beta1, beta2, epsilon } = rule
    const [p1, p2] = [state[2 * n]!, state[2 * n + 1]!]
    const rate = (rule.learningRate * Math.sqrt(1 - p2)) / (1 - p1)
    for (const [i, g] of gradients.entries()) {
      const m = store(beta1 * state[i]! + (1 - beta1) * g)
      const v = store(beta2 * state[n + i]! + (1 - beta2) * g * g)
      state[i] = m
      state[n + i] = v
      move(rule, weights, i, rate * (m / (Math.sqrt(v) + epsilon)), store)
    }
    state[2 * n] = store(p1 * beta1)
    state[2 * n + 1] = store(p2 * beta2)
  },
  SparseSharedAdamSGDRule(rule, weights, state, gradients, _show, store) {
    const { beta1, beta2, epsilon } = rule
    const [m, v, p1, p2] = state as [number, number, number, number]
    const rate = (rule.learningRate * Math.sqrt(1 - p2)) / (1 - p1)
    let [sumM, sumV] = [0, 0]
    for (const [i, g] of gradients.entries()) {
      const nextM = beta1 * m + (1 - beta1) * g
      const nextV = beta2 * v + (1 - beta2) * g * g
      move(rule, weights, i, rate * (nextM / (Math.sqrt(nextV) + epsilon)), store)
      sumM += nextM
      sumV += nextV
    }
    state[0] = store(sumM / gradients.length)
    state[1] = store(sumV / gradients.length)
    state[2] = store(p1 * beta1)
    state[3] = store(p2 * beta2)
  },
}

function move(rule: SparseRule, weights: number[], i: number, step: number, store: Round): void {
  weights[i] = boundedTo(rule, weights[i]! - step, store)
}

function sumSquares(gradients: readonly number[], show: number): number {
  return gradients.reduce((sum, g) => sum + (g / show) * (g / show), 0)
}
