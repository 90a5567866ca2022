/** @file How a builder's values become a program: pruned, verified, frozen. One that passes can be differentiated, lowered and run. */
import { UserError } from '../../base/util/index.ts'
import { dimTerms, formatShape, sameShape } from './dim.ts'
import { DTYPES, type OpKind } from './op.ts'
import { type Fetch, type Node, operandsOf, type Program, programInputs, type TensorType } from './program.ts'
import { SHAPE_RULES, type ShapeRule } from './shape-rules.ts'

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

/** Throws if names clash, a value is used before it exists, a shape is not what its rule says, or a symbol has no source. */
export function verify(program: Program): void {
  verifyNames(program)
  const types = new Map<number, TensorType>()
  const define = (item: TensorType & { readonly value: number }) => {
    if (types.has(item.value)) throw new Error(`internal: value %${item.value} is defined twice`)
    if (!DTYPES.includes(item.dtype)) throw new Error(`internal: %${item.value} has the unknown dtype ${item.dtype}`)
    types.set(item.value, item)
  }
  for (const input of programInputs(program)) define(input)
  for (const node of program.nodes) {
    verifyNode(node, types)
    define(node)
  }
  for (const { name, value } of program.fetches) {
    if (!types.has(value)) throw new Error(`internal: fetch ${name} names %${value}, which does not exist`)
  }
  verifySymbols(program)
}

function verifyNames(program: Program): void {
  const names = new Set<string>()
  for (const { name } of [...programInputs(program), ...program.fetches]) {
    if (names.has(name))
      throw new UserError(`The program has two inputs or fetches named "${name}".`, {
        code: 'PROGRAM_NAME',
        hint: 'Rename one of them; inputs and fetches share one set of names.',
      })
    names.add(name)
  }
}

function verifyNode(node: Node, types: ReadonlyMap<number, TensorType>): void {
  const inputs = operandsOf(node, (id) => {
    const type = types.get(id)
    if (!type) throw new Error(`internal: ${node.op.kind} %${node.value} uses %${id} before it is defined`)
    return type
  })
  const { shape, dtype } = (SHAPE_RULES[node.op.kind] as ShapeRule<OpKind>)(inputs, node.op)
  if (!sameShape(shape, node.shape) || dtype !== node.dtype) {
    throw new Error(
      `internal: ${node.op.kind} %${node.value} is ${node.dtype}${formatShape(node.shape)}, its rule says ${dtype}${formatShape(shape)}`,
    )
  }
}

/** Every symbol must be a dimension of some input by itself: that is where its size comes from at run time. */
function verifySymbols(program: Program): void {
  const sources = new Set(programInputs(program).flatMap(({ shape }) => shape))
  for (const symbol of neededSymbols(program)) {
    if (sources.has(symbol)) continue
    throw new UserError(`The program computes with the dimension ${symbol}, which no input has.`, {
      code: 'PROGRAM_SYMBOL',
      hint: `Declare a feed with the dimension ${symbol}.`,
    })
  }
}

/** The symbols whose size a run must know. */
export function neededSymbols({ nodes }: Program): ReadonlySet<string> {
  const dims = nodes.flatMap(({ op, shape }) => (op.kind === 'count' ? [...op.dims, ...shape] : shape))
  return new Set(dims.flatMap((dim) => dimTerms(dim).flatMap(({ symbols }) => symbols)))
}
