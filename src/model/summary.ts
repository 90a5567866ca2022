/** @file What a model is made of, in numbers: inputs, tables, layers with shapes and parameters, and FLOP a sample. Pure. */
import { evaluateDim, type Node, type Program, type Shape } from '../graph/program/index.ts'
import { kernelRule, type OptimizerSpec } from '../weights/optim/index.ts'
import type { TracedModel } from './trace.ts'

export interface TableSummary {
  readonly name: string
  readonly slots: readonly string[]
  readonly dim: number
  /** Weights and optimizer state of one sign; with its place in the index. */
  readonly bytesPerRow: number
}

export interface LayerSummary {
  /** The path that its parameters share: `fc.0`. */
  readonly name: string
  /** Parameters by their own names: `weight [29, 32]`. */
  readonly parameters: readonly { readonly name: string; readonly shape: readonly number[] }[]
  /** What comes out of the op that uses it. */
  readonly output: Shape | undefined
  readonly values: number
}

export interface ModelSummary {
  readonly inputs: readonly { readonly name: string; readonly kind: string; readonly width: number | undefined }[]
  readonly tables: readonly TableSummary[]
  readonly layers: readonly LayerSummary[]
  /** Of all layers. */
  readonly parameters: number
  /** Bytes of the dense weights with their optimizer state. */
  readonly denseBytes: number
  /** Multiplications and additions of one sample; sequences counted with one element. */
  readonly flop: { readonly infer: number; readonly train: number }
}

const INDEX_BYTES = 16 // sign and place of a row, at the index's usual load

export function summarize(model: TracedModel): ModelSummary {
  const { train, infer, slots, optimizer, tableOptimizers } = model
  const layers = layersOf(train)
  const parameters = layers.reduce((sum, { values }) => sum + values, 0)
  return {
    inputs: slots.map((slot) => ({
      name: slot.name,
      kind: slot.kind,
      width: slot.kind === 'dense' ? slot.width : undefined,
    })),
    tables: train.tables.map(({ name, dim }) => ({
      name,
      dim,
      slots: [...new Set(train.rows.filter(({ table }) => table === name).flatMap((rows) => rows.slots))],
      bytesPerRow: 4 * dim * copies(tableOptimizers[name] ?? optimizer) + INDEX_BYTES,
    })),
    layers,
    parameters,
    denseBytes: 4 * parameters * copies(optimizer),
    flop: { infer: flopOf(infer), train: flopOf(train) },
  }
}

/** A weight and its state. */
const copies = (optimizer: OptimizerSpec) => 1 + kernelRule(optimizer).states

function layersOf({ parameters, nodes }: Program): readonly LayerSummary[] {
  const pathOf = (name: string) => (name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name)
  const groups = new Map(
    parameters.map(({ name }) => [pathOf(name), parameters.filter((one) => pathOf(one.name) === pathOf(name))]),
  )
  return [...groups].map(([name, own]) => {
    const values = new Set(own.map(({ value }) => value))
    const user = nodes.find(({ inputs }) => inputs.some((id) => values.has(id)))
    return {
      name,
      parameters: own.map(({ name: path, shape }) => ({ name: path.slice(path.lastIndexOf('.') + 1), shape })),
      output: user?.shape,
      values: own.reduce((sum, { shape }) => sum + sizeOf(shape), 0),
    }
  })
}

const sizeOf = (shape: Shape): number => shape.reduce<number>((product, dim) => product * evaluateDim(dim, () => 1), 1)

/** Ops that move or make elements without computing. */
const FREE = new Set([
  'constant',
  'reshape',
  'expand',
  'transpose',
  'concat',
  'slice',
  'gather',
  'cast',
  'iota',
  'count',
  'oneHot',
])

function flopOf(program: Program): number {
  const shapes = new Map<number, Shape>()
  for (const { value, shape } of [
    ...program.feeds,
    ...program.rows,
    ...program.parameters,
    ...program.state,
    ...program.nodes,
  ])
    shapes.set(value, shape)
  return program.nodes.reduce((sum, node) => sum + nodeFlop(node, (id) => shapes.get(id)!), 0)
}

function nodeFlop({ op, inputs, shape }: Node, shapeOf: (id: number) => Shape): number {
  if (FREE.has(op.kind)) return 0
  const size = sizeOf(shape)
  if (op.kind === 'gemm' || op.kind === 'matmul') {
    const a = shapeOf(inputs[0]!)
    const isTransposed = op.kind === 'gemm' && op.transposeA
    return 2 * size * evaluateDim(a.at(isTransposed ? -2 : -1)!, () => 1)
  }
  // A reduction reads all of what it adds up.
  return Math.max(size, ...inputs.map((id) => sizeOf(shapeOf(id))))
}
