/** @file The arguments of a call, by the names of the parameters. */
import type { Call } from './ast.ts'
import type { Scope } from './house.ts'
import { evaluate } from './recursion.ts'
import { Unported } from './session.ts'
import type { Expr } from './value.ts'

export interface Given {
  readonly args: readonly Expr[]
  readonly keywords: ReadonlyMap<string, Expr>
}

export function givenTo(scope: Scope, { args, keywords }: Pick<Call, 'args' | 'keywords'>): Given {
  if (args.some(({ _ }) => _ === 'Starred') || keywords.some(({ arg }) => arg === null))
    throw new Unported('arguments that a list or a dictionary holds')
  const { frame } = scope
  const target = frame.target
  frame.target = undefined // names what is assigned, not what it is made of
  const given = {
    args: args.map((own) => evaluate(scope, own)),
    keywords: new Map(keywords.map(({ arg, value }) => [arg!, evaluate(scope, value)])),
  }
  frame.target = target
  return given
}

/** Arguments by the names of Paddle's parameters. */
export function bound(
  params: readonly string[],
  { args, keywords }: Given,
  what: string,
): Readonly<Record<string, Expr | undefined>> {
  if (args.length > params.length) throw new Unported(`${what} with ${args.length} arguments`)
  const stranger = [...keywords.keys()].find((name) => !params.includes(name))
  if (stranger) throw new Unported(`${what} with ${stranger}`)
  return Object.fromEntries(params.map((name, i) => [name, keywords.get(name) ?? args[i]]))
}
