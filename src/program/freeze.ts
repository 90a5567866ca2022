/** @file What becomes of a builder's values when they are a program: pruned, verified, frozen. */
import type { Fetch, Node, Program } from './program.ts'
import { verify } from './verify.ts'

/** A frozen copy without the nodes that no fetch needs; inputs all stay. */
export function freezeProgram(program: Program): Program {
  const pruned = { ...program, nodes: reachable(program.nodes, program.fetches) }
  verify(pruned)
  return deepFreeze(structuredClone(pruned))
}

function reachable(nodes: readonly Node[], outputs: readonly Fetch[]): Node[] {
  const needed = new Set(outputs.map(({ value }) => value))
  const kept = nodes.toReversed().filter((node) => {
    if (!needed.has(node.value)) return false
    for (const input of node.inputs) needed.add(input)
    return true
  })
  return kept.reverse()
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}
