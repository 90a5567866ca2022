/**
 * @file One ONNX file that holds the tables too and takes ids as they are. ONNX has no lookup by key, so each id is found by a
 * binary search unrolled into Gather, LessOrEqual and Where: exact for every id a table has. Any other id gets the mean row of
 * its table's initial distribution, since drawing the row itself is beyond the graph.
 */
import { dataType, type OnnxModel, type OnnxNode, type OnnxTensor, type OnnxValue } from '../../graph/onnx/index.ts'
import { tooLargeToFold } from './errors.ts'
import type { ExportInput, ExportTable, FoldedInput } from './manifest.ts'
import type { ExportPlan } from './plan.ts'
import type { TableMemory } from './table-file.ts'

export const MAX_FOLD_BYTES = 256 * 1024 * 1024 // a protobuf message ends at 2 GiB and readers hold it several times

export interface FoldOptions {
  /** The graph with its weights inside. */
  readonly model: OnnxModel
  readonly plan: ExportPlan
  readonly tables: readonly ExportTable[]
  readonly memories: readonly TableMemory[]
  /** Of signs and weights. @default MAX_FOLD_BYTES */
  readonly maxBytes?: number | undefined
}

export function foldModel({ model, plan, tables, memories, maxBytes = MAX_FOLD_BYTES }: FoldOptions): {
  model: OnnxModel
  inputs: FoldedInput[]
} {
  const bytes = memories.reduce((sum, { signs, weights }) => sum + signs.byteLength + weights.byteLength, 0)
  if (bytes > maxBytes) throw tooLargeToFold(bytes, maxBytes)
  const graph = new FoldGraph()
  const folded = new Map(tables.map((table, i) => [table.name, foldTable(graph, table, memories[i]!)]))
  const renamed = new Map<string, string>()
  for (const input of plan.inputs) {
    if (input.kind !== 'rows') continue
    const { rows, mask } = foldRows(graph, input, folded.get(input.table)!, alikeSlots(input, plan.inputs))
    renamed.set(input.name, rows)
    if (mask) renamed.set(`${input.name}.mask`, mask)
  }
  const inputs = foldedInputs(plan)
  return {
    inputs,
    model: {
      ...model,
      nodes: [
        ...graph.nodes,
        ...model.nodes.map((node) => ({ ...node, inputs: node.inputs.map((name) => renamed.get(name) ?? name) })),
      ],
      initializers: [...model.initializers, ...graph.initializers],
      inputs: inputs.map(({ name, dtype, shape }): OnnxValue => ({ name, dtype, shape })),
    },
  }
}

/** Ids [B, N_<slot>] with their number [B] of each sparse slot that is needed; dense slots as they are. */
function foldedInputs({ slots, inputs }: ExportPlan): FoldedInput[] {
  const dense = new Map(inputs.flatMap((input) => (input.kind === 'dense' ? [[input.slot, input] as const] : [])))
  return slots.flatMap((slot): FoldedInput[] => {
    const { name } = slot
    if (!slot.needed) return []
    if (slot.kind === 'dense') {
      const { dtype, shape } = dense.get(name)!
      return [{ name, dtype, shape, slot: name, what: 'values' }]
    }
    return [
      { name, dtype: 'int64', shape: ['B', `N_${name}`], slot: name, what: 'ids' },
      { name: countsOf(name), dtype: 'int64', shape: ['B'], slot: name, what: 'counts' },
    ]
  })
}

const countsOf = (slot: string) => `${slot}.counts`

/** Names of a table's initializers. */
interface FoldedTable {
  readonly signs: string
  readonly weights: string
  readonly rows: number
}

/** Signs in signed order, which turns the unsigned one around, and weights with the row of unknown ids behind them. */
function foldTable(graph: FoldGraph, { name, dim, unseen }: ExportTable, memory: TableMemory): FoldedTable {
  const { rows } = memory
  const signs = new BigInt64Array(memory.signs)
  const weights = new Float32Array(memory.weights)
  const negative = signs.findIndex((sign) => sign < 0n)
  const turn = Math.max(0, negative)
  const ordered = new Float32Array((rows + 1) * dim).fill(meanOf(unseen), rows * dim)
  ordered.set(weights.subarray(turn * dim))
  ordered.set(weights.subarray(0, turn * dim), (rows - turn) * dim)
  const turned = new BigInt64Array(rows)
  turned.set(signs.subarray(turn))
  turned.set(signs.subarray(0, turn), rows - turn)
  return {
    rows,
    signs: graph.constant(`/table/${name}/signs`, turned, [rows], 'int64'),
    weights: graph.constant(`/table/${name}/weights`, ordered, [rows + 1, dim], 'float32'),
  }
}

function meanOf(unseen: ExportTable['unseen']): number {
  if (unseen.kind === 'constant') return unseen.value
  return unseen.kind === 'uniform' ? (unseen.low + unseen.high) / 2 : unseen.mean
}

type RowsInput = Extract<ExportInput, { kind: 'rows' }>

/** The slots of sequences that are padded alike, by the symbol of their length. */
function alikeSlots({ pooling, shape }: RowsInput, inputs: readonly ExportInput[]): readonly string[] {
  if (pooling !== 'sequence') return []
  const same = inputs.flatMap((other) => (other.kind === 'rows' && other.shape[1] === shape[1] ? other.slots : []))
  return [...new Set(same)]
}

function foldRows(
  graph: FoldGraph,
  input: RowsInput,
  table: FoldedTable,
  alike: readonly string[],
): { rows: string; mask?: string } {
  const { slots, pooling, shape } = input
  if (pooling === 'sequence') {
    const ids = typeof shape[1] === 'number' ? cutTo(graph, slots[0]!, shape[1]) : padLike(graph, slots[0]!, alike)
    const { rows, mask } = lookUp(graph, ids, countsOf(slots[0]!), table)
    return { rows, mask }
  }
  const pooled = slots.map((slot) => {
    const { rows } = lookUp(graph, slot, countsOf(slot), table)
    const sum = graph.node('ReduceSum', [rows, graph.ints([1])], { keepdims: 0 }) // [B, dim]
    if (pooling === 'sum') return sum
    const atLeastOne = graph.node('Max', [countsOf(slot), graph.int(1)])
    const count = graph.node('Unsqueeze', [graph.node('Cast', [atLeastOne], FLOAT), graph.ints([1])])
    return graph.node('Div', [sum, pooling === 'mean' ? count : graph.node('Sqrt', [count])])
  })
  return { rows: graph.node('Concat', pooled, { axis: 1 }) }
}

const FLOAT = { to: dataType('float32') }

/** Ids padded or cut to a length that a layer must know. */
function cutTo(graph: FoldGraph, ids: string, length: number): string {
  const padded = graph.node('Pad', [ids, graph.ints([0, 0, 0, length])])
  return graph.node('Slice', [padded, graph.ints([0]), graph.ints([length]), graph.ints([1])])
}

/** Ids padded to the longest of several slots. */
function padLike(graph: FoldGraph, ids: string, slots: readonly string[]): string {
  if (slots.length < 2) return ids
  const lengthOf = (slot: string) => graph.node('Shape', [slot], { start: 1, end: 2 })
  const missing = graph.node('Sub', [graph.node('Max', slots.map(lengthOf)), lengthOf(ids)])
  return graph.node('Pad', [ids, graph.node('Concat', [graph.ints([0, 0, 0]), missing], { axis: 0 })])
}

/** Rows [B, N, dim], zero behind each sample's last id, and the mask [B, N]. */
function lookUp(graph: FoldGraph, ids: string, counts: string, table: FoldedTable): { rows: string; mask: string } {
  const length = graph.node('Squeeze', [graph.node('Shape', [ids], { start: 1, end: 2 })])
  const places = graph.node('Range', [graph.int(0), length, graph.int(1)])
  const valid = graph.node('Less', [places, graph.node('Unsqueeze', [counts, graph.ints([1])])])
  const mask = graph.node('Cast', [valid], FLOAT)
  const all = graph.node('Gather', [table.weights, search(graph, ids, table)], { axis: 0 })
  return { rows: graph.node('Mul', [all, graph.node('Unsqueeze', [mask, graph.ints([2])])]), mask }
}

/** Row numbers [B, N] of ids: the largest place whose sign is not above the id, if that is the id; else the last row. */
function search(graph: FoldGraph, ids: string, { signs, rows }: FoldedTable): string {
  let place = graph.node('Sub', [ids, ids])
  if (rows === 0) return place
  for (let step = 2 ** Math.floor(Math.log2(rows)); step >= 1; step /= 2) {
    const further = graph.node('Add', [place, graph.int(step)])
    const inside = graph.node('Less', [further, graph.int(rows)])
    const sign = graph.node('Gather', [signs, graph.node('Min', [further, graph.int(rows - 1)])], { axis: 0 })
    const goes = graph.node('And', [inside, graph.node('LessOrEqual', [sign, ids])])
    place = graph.node('Where', [goes, further, place])
  }
  const found = graph.node('Equal', [graph.node('Gather', [signs, place], { axis: 0 }), ids])
  return graph.node('Where', [found, place, graph.int(rows)])
}

/** Nodes and initializers that come before the graph's own; the slashes keep their names apart from a user's. */
class FoldGraph {
  readonly nodes: OnnxNode[] = []
  readonly #initializers = new Map<string, OnnxTensor>()
  readonly #known = new Map<string, string>()

  get initializers(): OnnxTensor[] {
    return [...this.#initializers.values()]
  }

  /** A node's output; the same node is made once. */
  node(type: string, inputs: readonly string[], attributes: OnnxNode['attributes'] = {}): string {
    const key = JSON.stringify([type, inputs, attributes])
    const known = this.#known.get(key)
    if (known) return known
    const output = `/fold/${type}_${this.nodes.length}`
    this.nodes.push({ type, inputs, output, attributes })
    this.#known.set(key, output)
    return output
  }

  constant(name: string, values: OnnxTensor['values'], dims: readonly number[], dtype: OnnxTensor['dtype']): string {
    this.#initializers.set(name, { name, values, dims, dtype })
    return name
  }

  int(value: number): string {
    return this.constant(`/fold/${value}`, [value], [], 'int64')
  }

  ints(values: readonly number[]): string {
    return this.constant(`/fold/[${values.join()}]`, values, [values.length], 'int64')
  }
}
