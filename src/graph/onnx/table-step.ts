/**
 * @file A training program with its tables inside: gathers rows, pools them, runs the program, merges the gradients of a sign that stands
 * several times, applies the optimizer and writes the rows back, all in one graph. For devices that keep tensors between runs: a table goes
 * in and comes out as the same buffer. On the CPU's provider its cost grows with the table: keep tables outside there.
 */
import type { Program, ProgramRows } from '../program/index.ts'
import { toOnnxModel } from './lower.ts'
import type { OnnxAttribute, OnnxModel, OnnxNode, OnnxTensor, OnnxValue } from './messages.ts'

/** How a table's rows are trained: a rule by its name and constants, as kernels have them. */
export interface TableRule {
  readonly rule: string
  readonly a: number
  readonly b: number
  readonly c: number
  /** Runs of state behind the weight, each as long as it. */
  readonly states: number
}

/** Rules that a graph has. */
export const TABLE_STEP_RULES = ['sgd', 'adagrad', 'adam'] as const

/**
 * Names of what one table takes and gives. `table` is [rows, (1 + states) * dim], `unique` the numbers of the rows that the batch needs,
 * each once; for each occurrence of a sign `inverse` is its place in `unique`, and `cell` the sum that it goes into.
 * `merged` and `pooled` are zeros of the size of what is summed up.
 */
export const tableInputs = (table: string) => ({
  table: `table:${table}`,
  unique: `unique:${table}`,
  inverse: `inverse:${table}`,
  cell: `cell:${table}`,
  merged: `merged:${table}`,
  pooled: `pooled:${table}`,
})
/** Learning rate and what else the step's rule needs, [1] each. */
export const STEP_INPUTS = { rate: 'step:rate', aux: 'step:aux' } as const
export const trainedTable = (table: string) => `trained:${table}`

export function tableStep(program: Program, ruleOf: (table: string) => TableRule): OnnxModel {
  const model = toOnnxModel(program)
  const build = new Nodes()
  const sums = program.tables.map(({ name, dim }) => {
    const used = program.rows.filter((rows) => rows.table === name)
    if (used.length !== 1 || used[0]!.pooling !== 'sum')
      throw new Error(`table "${name}": a step on a device takes one pooled sum a table`)
    return { name, dim, rows: used[0]!, rule: ruleOf(name) }
  })
  for (const { name, dim, rows } of sums) build.gather(name, dim, rows)
  const before = build.take()
  for (const { name, dim, rows, rule } of sums) build.update(name, dim, rows, rule)
  const inner = new Set(sums.flatMap(({ rows }) => [rows.name, `grad:${rows.name}`]))
  const outside = <T extends OnnxValue>(values: readonly T[]) => values.filter(({ name }) => !inner.has(name))
  const tables = sums.map(({ name, dim, rule }): OnnxValue => tableValue(trainedTable(name), dim, rule))
  return {
    ...model,
    nodes: [...before, ...model.nodes, ...build.take()],
    initializers: [...model.initializers, ...build.initializers],
    inputs: [...outside(model.inputs), ...sums.flatMap(({ name, dim, rule }) => valuesOf(name, dim, rule)), ...STEP],
    outputs: [...outside(model.outputs), ...tables],
  }
}

const tableValue = (name: string, dim: number, { states }: TableRule): OnnxValue => ({
  name,
  shape: [`rows of ${name}`, (1 + states) * dim],
  dtype: 'float32',
})

const STEP: readonly OnnxValue[] = Object.values(STEP_INPUTS).map((name) => ({ name, shape: [1], dtype: 'float32' }))

function valuesOf(name: string, dim: number, rule: TableRule): OnnxValue[] {
  const { table, unique, inverse, cell, merged, pooled } = tableInputs(name)
  return [
    tableValue(table, dim, rule),
    { name: unique, shape: [unique], dtype: 'int32' },
    { name: inverse, shape: [inverse], dtype: 'int32' },
    { name: cell, shape: [inverse], dtype: 'int32' },
    { name: merged, shape: [unique, dim], dtype: 'float32' },
    { name: pooled, shape: [pooled, dim], dtype: 'float32' },
  ]
}

/** Nodes as they are added; names begin with `//`, which no program has. */
class Nodes {
  readonly initializers: OnnxTensor[] = []
  #nodes: OnnxNode[] = []
  #count = 0

  take(): OnnxNode[] {
    const taken = this.#nodes
    this.#nodes = []
    return taken
  }

  /** Rows of the batch into what the program reads. */
  gather(table: string, dim: number, rows: ProgramRows): void {
    const names = tableInputs(table)
    const own = this.#node('Gather', [names.table, names.unique], { axis: 0 })
    const weights = this.#columns(own, 0, dim)
    const each = this.#node('Gather', [weights, names.inverse], { axis: 0 })
    const pooled = this.#add(names.pooled, names.cell, each)
    const shape = rows.shape.map((size, axis) => (axis === 0 ? -1 : Number(size)))
    this.#node('Reshape', [pooled, this.#ints(shape)], {}, rows.name)
  }

  /** Gradients of the program into the rows. */
  update(table: string, dim: number, rows: ProgramRows, rule: TableRule): void {
    const names = tableInputs(table)
    const cells = this.#node('Reshape', [`grad:${rows.name}`, this.#ints([-1, dim])])
    const each = this.#node('Gather', [cells, names.cell], { axis: 0 })
    const gradient = this.#add(names.merged, names.inverse, each)
    const own = this.#node('Gather', [names.table, names.unique], { axis: 0 })
    const [weight, ...state] = Array.from({ length: 1 + rule.states }, (_, i) =>
      this.#columns(own, i * dim, (i + 1) * dim),
    )
    const trained = this.#apply(rule, weight!, state, gradient)
    const whole = trained.length === 1 ? trained[0]! : this.#node('Concat', trained, { axis: 1 })
    this.#node('ScatterND', [names.table, this.#indices(names.unique), whole], {}, trainedTable(table))
  }

  /** What assembly/rules.ts does, for all rows at once: the weight and its states after the step. */
  #apply({ rule, a, b, c: _ }: TableRule, weight: string, state: readonly string[], g: string): string[] {
    const { rate, aux } = STEP_INPUTS
    const of = (type: string, ...inputs: string[]) => this.#node(type, inputs)
    const square = of('Mul', g, g)
    const decayed = (keep: number, old: string, value: string) =>
      of('Add', of('Mul', old, this.#number(keep)), of('Mul', value, this.#number(Math.fround(1 - keep))))
    if (rule === 'sgd') return [of('Sub', weight, of('Mul', g, rate))]
    if (rule === 'adagrad') {
      const h = of('Add', state[0]!, square)
      const step = of('Div', of('Mul', g, rate), of('Add', of('Sqrt', h), this.#number(a)))
      return [of('Sub', weight, step), h]
    }
    if (rule === 'adam') {
      const [m, v] = [decayed(a, state[0]!, g), decayed(b, state[1]!, square)]
      return [of('Sub', weight, of('Div', of('Mul', m, rate), of('Add', of('Sqrt', v), aux))), m, v]
    }
    throw new Error(`internal: no rule ${rule} in a graph; it has ${TABLE_STEP_RULES.join(', ')}`)
  }

  /** `base` with each row of `values` added at its index. */
  #add(base: string, index: string, values: string): string {
    return this.#node('ScatterND', [base, this.#indices(index), values], { reduction: 'add' })
  }

  /** [n] of int32 as ScatterND takes them. */
  #indices(name: string): string {
    const long = this.#node('Cast', [name], { to: 7 })
    return this.#node('Reshape', [long, this.#ints([-1, 1])])
  }

  #columns(name: string, from: number, to: number): string {
    return this.#node('Slice', [name, this.#ints([from]), this.#ints([to]), this.#ints([1])])
  }

  #ints(values: readonly number[]): string {
    return this.#constant(values, [values.length], 'int64')
  }

  #number(value: number): string {
    return this.#constant([value], [], 'float32')
  }

  #constant(values: readonly number[], dims: readonly number[], dtype: 'int64' | 'float32'): string {
    const name = `//constant_${this.initializers.length}`
    this.initializers.push({ name, dims, dtype, values })
    return name
  }

  #node(
    type: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    output?: string,
  ) {
    const name = output ?? `//${type}_${this.#count++}`
    this.#nodes.push({ type, inputs, output: name, attributes })
    return name
  }
}
