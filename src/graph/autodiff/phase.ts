/** @file One traced program, two uses: training takes the first operand of each `phase` op, inference the second. */
import { neededSymbols, type Program, programInputs } from '../program/index.ts'
import { rebuild } from './rebuild.ts'
import { simplify } from './simplify.ts'

/** Only what the named fetches need, as it is in a phase; state is read, not written, and unused inputs are gone. */
export function inference(
  program: Program,
  fetchNames: readonly string[],
  phase: 'training' | 'inference' = 'inference',
): Program {
  const pruned = rebuild(withoutStateUpdates(resolvePhase(program, phase)), { fetches: fetchNames })
  return dropUnusedInputs(simplify(pruned))
}

export function resolvePhase(program: Program, phase: 'training' | 'inference'): Program {
  if (!program.nodes.some(({ op }) => op.kind === 'phase')) return program
  const index = phase === 'training' ? 0 : 1
  return rebuild(program, { rewrite: ({ op, inputs }) => (op.kind === 'phase' ? inputs[index] : undefined) })
}

function withoutStateUpdates(program: Program): Program {
  return { ...program, state: program.state.map(({ next, ...state }) => state) }
}

function dropUnusedInputs(program: Program): Program {
  const used = new Set([...program.nodes.flatMap(({ inputs }) => inputs), ...program.fetches.map(({ value }) => value)])
  for (const symbol of neededSymbols(program)) {
    // An input nobody reads may still be where a size comes from.
    const sources = programInputs(program).filter(({ shape }) => shape.includes(symbol))
    if (!sources.some(({ value }) => used.has(value))) used.add(sources[0]!.value)
  }
  // A sequence's mask comes with its rows, whether or not the graph reads it.
  for (const { value, mask } of program.rows) if (mask !== undefined && used.has(value)) used.add(mask)
  const keep = <T extends { readonly value: number }>(items: readonly T[]) =>
    items.filter(({ value }) => used.has(value))
  const rows = keep(program.rows)
  return Object.freeze({
    ...program,
    feeds: keep(program.feeds),
    rows,
    tables: program.tables.filter(({ name }) => rows.some(({ table }) => table === name)),
    parameters: keep(program.parameters),
    state: keep(program.state),
  })
}
