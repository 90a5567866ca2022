/** @file The rules of assembly/rules.ts as plain arithmetic: slow, exact, what the kernels are tested against. */
import type { KernelRule } from '../../base/kernel/index.ts'
import type { StepFactors } from './optimizer.ts'

/** Rounds after every operation: to float32 as the kernels do, or not at all. */
type Round = (value: number) => number

/** One weight and its states; mutated in place. */
export interface Cell {
  weight: number
  readonly state: number[]
}

/** Applies a rule to one weight; by default rounded to float32 after every operation, as the kernel does. */
export function applyReference(
  rule: KernelRule,
  factors: Pick<StepFactors, 'rate' | 'aux'>,
  l2: number,
  cell: Cell,
  gradient: number,
  f: Round = Math.fround,
): void {
  const [restA, restB] = [f(1 - rule.a), f(1 - rule.b)]
  REFERENCE[rule.rule](
    f,
    { ...rule, a: f(rule.a), b: f(rule.b), c: f(rule.c), restA, restB },
    f(factors.rate),
    f(factors.aux),
    f(l2),
    cell,
    f(gradient),
  )
}

/** The rule's constants in float32, and what is left of a and b to 1. */
type Constants = KernelRule & { readonly restA: number; readonly restB: number }
type Reference = (
  f: Round,
  rule: Constants,
  rate: number,
  aux: number,
  l2: number,
  cell: Cell,
  gradient: number,
) => void

const decayed = (f: Round, cell: Cell, gradient: number, l2: number) => f(gradient + f(l2 * cell.weight))

const REFERENCE: { readonly [K in KernelRule['rule']]: Reference } = {
  sgd(f, _, rate, _aux, l2, cell, gradient) {
    cell.weight = f(cell.weight - f(rate * decayed(f, cell, gradient, l2)))
  },
  momentum(f, { a: mu, flags }, rate, _aux, l2, cell, gradient) {
    const g = decayed(f, cell, gradient, l2)
    const u = f(f(mu * cell.state[0]!) + g)
    cell.state[0] = u
    cell.weight = f(cell.weight - f(rate * (flags ? f(g + f(mu * u)) : u)))
  },
  adagrad(f, { a: epsilon }, rate, _aux, l2, cell, gradient) {
    const g = decayed(f, cell, gradient, l2)
    const h = f(cell.state[0]! + f(g * g))
    cell.state[0] = h
    cell.weight = f(cell.weight - f(f(rate * g) / f(f(Math.sqrt(h)) + epsilon)))
  },
  rmsprop(f, { a: rho, b: epsilon, c: mu, flags, restA: rest }, rate, _aux, l2, cell, gradient) {
    const g = decayed(f, cell, gradient, l2)
    const h = f(f(rho * cell.state[0]!) + f(rest * f(g * g)))
    cell.state[0] = h
    let d = h
    if (flags) {
      const mean = f(f(rho * cell.state[2]!) + f(rest * g))
      cell.state[2] = mean
      d = f(h - f(mean * mean))
    }
    const u = f(f(mu * cell.state[1]!) + f(f(rate * g) / f(Math.sqrt(f(d + epsilon)))))
    cell.state[1] = u
    cell.weight = f(cell.weight - u)
  },
  adam(f, { a: beta1, b: beta2, restA, restB }, rate, aux, l2, cell, gradient) {
    const g = decayed(f, cell, gradient, l2)
    const m = f(f(beta1 * cell.state[0]!) + f(restA * g))
    const v = f(f(beta2 * cell.state[1]!) + f(restB * f(g * g)))
    cell.state[0] = m
    cell.state[1] = v
    cell.weight = f(cell.weight - f(f(rate * m) / f(f(Math.sqrt(v)) + aux)))
  },
  ftrl(f, { a: l1, b: l2Proximal }, rate, _aux, _l2, cell, gradient) {
    const n = f(cell.state[0]! + f(gradient * gradient))
    const root = f(Math.sqrt(n))
    const pull = f(f(f(root - f(Math.sqrt(cell.state[0]!))) / rate) * cell.weight)
    const z = f(f(cell.state[1]! + gradient) - pull)
    cell.state[0] = n
    cell.state[1] = z
    const shrunk = f((z < 0 || Object.is(z, -0) ? -l1 : l1) - z)
    cell.weight = Math.abs(z) > l1 ? f(shrunk / f(f(root / rate) + f(l2Proximal + l2Proximal))) : 0
  },
}
