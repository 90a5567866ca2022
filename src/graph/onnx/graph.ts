/** @file The graph under construction: nodes and initializers by name, and sizes that are known only at run time. */
import { type Dim, type DType, dimTerms, isSymbol, type Program, programInputs, type Shape } from '../program/index.ts'
import type { OnnxAttribute, OnnxNode, OnnxTensor } from './messages.ts'

export class OnnxGraph {
  readonly nodes: OnnxNode[] = []
  readonly #initializers = new Map<string, OnnxTensor>()
  readonly #known = new Map<string, string>()
  readonly #sources: ReadonlyMap<Dim, { readonly input: string; readonly axis: number }>

  constructor(program: Program) {
    const dims = programInputs(program).flatMap(({ name, shape }) =>
      shape.map((dim, axis) => [dim, { input: name, axis }] as const),
    )
    this.#sources = new Map(dims.toReversed())
  }

  get initializers(): OnnxTensor[] {
    return [...this.#initializers.values()]
  }

  /** Appends a node, unless it is there already, and returns the name of its output; the slash keeps it apart from names a user gives. */
  node(
    type: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    outputIndex = 0,
  ): string {
    const key = JSON.stringify([type, inputs, attributes, outputIndex])
    const known = this.#known.get(key)
    if (known) return known
    const output = `/${type}_${this.nodes.length}`
    this.nodes.push({ type, inputs, output, attributes, outputIndex })
    this.#known.set(key, output)
    return output
  }

  /** A constant tensor; equal ones are stored once. */
  constant(values: readonly number[], dims: readonly number[], dtype: DType): string {
    const key = JSON.stringify([values, dims, dtype])
    const known = this.#initializers.get(key)
    if (known) return known.name
    const name = `/constant_${this.#initializers.size}`
    this.#initializers.set(key, { name, dims, dtype, values })
    return name
  }

  scalar(value: number, dtype: DType): string {
    return this.constant([value], [], dtype)
  }

  /** A constant int64 vector: axes, shapes, pads. */
  ints(values: readonly number[]): string {
    return this.constant(values, [values.length], 'int64')
  }

  /** An int64 vector of dimensions, read from the inputs at run time where they are symbols. */
  shape(shape: Shape): string {
    if (shape.every((dim) => typeof dim === 'number')) return this.ints(shape)
    const parts = shape.map((dim) => this.size(dim))
    return parts.length === 1 ? parts[0]! : this.node('Concat', parts, { axis: 0 })
  }

  /** One dimension as an int64 vector of one element. */
  size(dim: Dim): string {
    if (typeof dim === 'number') return this.ints([dim])
    const source = this.#sources.get(dim)
    if (source) return this.node('Shape', [source.input], { start: source.axis, end: source.axis + 1 })
    if (isSymbol(dim)) throw new Error(`internal: no input has the dimension ${dim}`)
    const terms = dimTerms(dim).map(({ coefficient, symbols }) => {
      const factors = symbols.map((symbol) => this.size(symbol))
      return [...(coefficient === 1 && factors.length > 0 ? [] : [this.ints([coefficient])]), ...factors].reduce(
        (a, b) => this.node('Mul', [a, b]),
      )
    })
    return terms.reduce((a, b) => this.node('Add', [a, b]))
  }
}
