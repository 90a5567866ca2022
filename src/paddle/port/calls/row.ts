/** @file One row of the table of calls: a call of Paddle or Python, and what it becomes here or why it does not. */
import type { Call } from '../ast.ts'
import { house, type Scope } from '../house.ts'
import { Unported } from '../session.ts'
import { type Expr, said } from '../value.ts'

export type Args = Readonly<Record<string, Expr | undefined>>
export type Translate = (scope: Scope, args: Args, node: Call) => Expr

export interface CallRow {
  /** Paddle's names of it. */
  readonly names: readonly string[]
  /** Names of its parameters, in order. */
  readonly params: readonly string[]
  /** What it becomes, for the reference. */
  readonly becomes: string
  readonly translate?: Translate | undefined
  /** It reads its arguments from the call itself. */
  readonly raw?: boolean | undefined
  /** Why there is no translation. */
  readonly reason?: string | undefined
}

export function row(names: string, params: string, becomes: string, translate: Translate): CallRow {
  return { names: names.split(' '), params: params.split(' ').filter(Boolean), becomes, translate }
}

/** Calls without a translation. */
export function without(names: string, reason: string): CallRow {
  return { names: names.split(' '), params: [], becomes: '', reason }
}

/** A function of oarfish/nn that takes these of the arguments, in this order. */
export function op(names: string, params: string, name: string, ...takes: readonly string[]): CallRow {
  const list = takes.length > 0 ? takes : ['x']
  return row(names, params, `nn.${name}(${list.join(', ')})`, (scope, args) => {
    refuse(args, params, list)
    return house(scope, name, ...list.map((own, i) => (i === 0 ? need(args, own) : args[own])))
  })
}

/** An argument that was given and would be ignored is no translation. */
function refuse(args: Args, params: string, takes: readonly string[]): void {
  const ignored = params
    .split(' ')
    .find((own) => own !== 'name' && !takes.includes(own) && args[own] && args[own].value.kind !== 'none')
  if (ignored) throw new Unported(`${ignored}=${args[ignored]!.text}`)
}

export function need(args: Args, name: string): Expr {
  const own = args[name]
  if (own) return own
  throw new Unported(`a call without ${name}`)
}

export function numberOf({ value, text }: Expr): number {
  if (value.kind === 'number') return value.value
  throw new Unported(`${text} is ${said(value)}, not a number`)
}

export const given = (expr: Expr | undefined): Expr | undefined => (expr?.value.kind === 'none' ? undefined : expr)

/** True or false as it was given; the default where it was not. */
export function flag(expr: Expr | undefined, usually: boolean): boolean {
  if (!expr || expr.value.kind === 'none') return usually
  if (expr.value.kind === 'boolean') return expr.value.value
  throw new Unported(`${expr.text} is ${said(expr.value)}, not True or False`)
}

/** `{ a: 1, b: x }` of the parts that are there. */
export function objectText(parts: Readonly<Record<string, string | undefined>>): string {
  const own = Object.entries(parts).flatMap(([name, text]) =>
    text === undefined ? [] : [name === text ? name : `${name}: ${text}`],
  )
  return own.length === 0 ? '{}' : `{ ${own.join(', ')} }`
}
