/** @file Where following goes round: expressions hold calls, calls follow functions, functions hold expressions. Files call each other here. */
import type { Call, Expression } from './ast.ts'
import type { Scope } from './house.ts'
import type { Expr, Value } from './value.ts'

export interface Iteration {
  readonly items: readonly Value[]
  /** An array, or what `for (const x of ...)` takes. */
  readonly text: string
  /** The head of a loop that counts, given the variable. */
  readonly counting?: ((name: string) => string) | undefined
  /** Otherwise only `for` can run over it. */
  readonly isArray: boolean
}

/** What a session is made with: one function of each kind. */
export interface Turns {
  readonly evaluate: (scope: Scope, node: Expression) => Expr
  readonly evaluateCall: (scope: Scope, node: Call) => Expr
  readonly iterate: (scope: Scope, node: Expression) => Iteration
  /** Follows the function of the scope's frame; gives what it returns. */
  readonly follow: (scope: Scope) => Value
}

export const evaluate: Turns['evaluate'] = (scope, node) => scope.session.turns.evaluate(scope, node)
export const evaluateCall: Turns['evaluateCall'] = (scope, node) => scope.session.turns.evaluateCall(scope, node)
export const iterate: Turns['iterate'] = (scope, node) => scope.session.turns.iterate(scope, node)
export const follow: Turns['follow'] = (scope) => scope.session.turns.follow(scope)
