/** @file Copies a program node by node through a rewrite; equal nodes become one and unneeded ones vanish on the way. */

import { suggest, UserError } from '../../base/util/index.ts'
import {
  Builder,
  type Op,
  type Operands,
  type OpKind,
  operandsOf,
  ownFetches,
  type Program,
  programInputs,
  type Tensor,
} from '../program/index.ts'

/** A node about to be copied: its op, its operands in the new program, and how often the old program uses operand i. */
export interface Candidate<K extends OpKind = OpKind> {
  readonly op: Op<K>
  readonly inputs: Operands<K, Tensor>
  readonly uses: (operand: number) => number
}

export interface RebuildOptions {
  /** What to put in a node's place; undefined keeps it. */
  readonly rewrite?: ((candidate: Candidate, builder: Builder) => Tensor | undefined) | undefined
  /** @default all of them */
  readonly fetches?: readonly string[] | undefined
}

export function rebuild(program: Program, { rewrite, fetches }: RebuildOptions): Program {
  const state = program.state.map(({ next, ...rest }) => rest)
  const builder = Builder.from({ ...program, nodes: [], fetches: [], state })
  const values = new Map(programInputs(program).map(({ value }) => [value, builder.tensor(value)]))
  const uses = countUses(program)
  for (const node of program.nodes) {
    const inputs = operandsOf(node, (id) => values.get(id)!)
    const candidate = { op: node.op, inputs, uses: (operand: number) => uses.get(node.inputs[operand]!) ?? 0 }
    const copy = () => rewrite?.(candidate, builder) ?? builder.emit(node.op, inputs)
    values.set(node.value, builder.at(node.place, copy))
  }
  for (const { value, next } of program.state) {
    if (next !== undefined) builder.setState(builder.tensor(value), values.get(next)!)
  }
  const names = fetches ?? ownFetches(program).map(({ name }) => name)
  return builder.build(Object.fromEntries(names.map((name) => [name, values.get(fetchNamed(program, name))!])))
}

function countUses(program: Program): ReadonlyMap<number, number> {
  const uses = new Map<number, number>()
  const used = [...program.nodes.flatMap(({ inputs }) => inputs), ...program.fetches.map(({ value }) => value)]
  for (const value of used) uses.set(value, (uses.get(value) ?? 0) + 1)
  return uses
}

function fetchNamed(program: Program, name: string): number {
  const fetch = program.fetches.find((candidate) => candidate.name === name)
  if (fetch) return fetch.value
  const names = program.fetches.map((candidate) => candidate.name)
  const near = suggest(name, names)
  const hint = near ? `Did you mean "${near}"?` : `Its fetches are: ${names.join(', ')}.`
  throw new UserError(`The program has no fetch named "${name}".`, { code: 'PROGRAM_FETCH', hint })
}
