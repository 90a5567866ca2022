/** @file Values as somebody wrote them, each with its place: what conf.py and conf.yaml come to before anybody asks what they mean. */
import type { Where } from '../util/index.ts'

export interface Literal {
  readonly value: string | number | boolean | null | readonly Literal[]
  readonly where: Where
}

/** Values by name, and where each name stands. */
export type Assignments = ReadonlyMap<string, { readonly literal: Literal; readonly where: Where }>

export const isList = ({ value }: Literal): boolean => Array.isArray(value)

/** How a value is named in an error. */
export function literalText({ value }: Literal): string {
  return typeof value === 'object' && value !== null ? 'a list' : JSON.stringify(value)
}
