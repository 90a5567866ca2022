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
  /** Variants of a rule: Nesterov's momentum, a centered RMSProp. */
  readonly flags: number
  /** Runs of state behind the weight, each as long as it. */
  readonly states: number
  /** Weight decay, added to gradients. @default 0 */
  readonly l2?: number | undefined
}

/**
 * Names of what one table takes and gives. `table` is [rows, (1 + states) * dim], `unique` the numbers of the rows that the batch needs,
 * each once, `merged` zeros of the size of their gradients; `rate` and `aux` are the step's factors, [1] each.
 */
export const tableInputs = (table: string) => ({
  table: `table:${table}`,
  unique: `unique:${table}`,
  merged: `merged:${table}`,
  rate: `rate:${table}`,
  aux: `aux:${table}`,
})
/**
 * Of rows as the program reads them: for each occurrence of a sign `inverse` is its place in the table's `unique`, `cell` the sum that it
 * goes into, `factor` ([occurrences, 1]) what it is multiplied with; `pooled` is zeros of the size of the sums, and `shape` that of what the program reads.
 */
export const rowsInputs = (rows: string) => ({
  inverse: `inverse:${rows}`,
  cell: `cell:${rows}`,
  factor: `factor:${rows}`,
  pooled: `pooled:${rows}`,
  shape: `shape:${rows}`,
})
export const trainedTable = (table: string) => `trained:${table}`

const hasGradient = ({ fetches }: Program, rows: ProgramRows) =>
  fetches.some(({ name }) => name === `grad:${rows.name}`)

/** Those that the program has gradients for. */
export function trainedTables(program: Program): string[] {
  const trained = new Set(program.rows.filter((rows) => hasGradient(program, rows)).map(({ table }) => table))
  return program.tables.map(({ name }) => name).filter((name) => trained.has(name))
}

export function tableStep(program: Program, ruleOf: (table: string) => TableRule): OnnxModel {
  const model = toOnnxModel(program)
  const build = new Nodes()
  const tables = program.tables.map(({ name, dim }) => ({
    name,
    dim,
    rule: ruleOf(name),
    rows: program.rows.filter(({ table }) => table === name),
  }))
  for (const { name, dim, rows } of tables) build.gather(name, dim, rows)
  const before = build.take()
  const trained = new Set(trainedTables(program))
  for (const { name, dim, rows, rule } of tables)
    if (trained.has(name))
      build.update(
        name,
        dim,
        rows.filter((own) => hasGradient(program, own)),
        rule,
      )
  const inner = new Set(program.rows.flatMap(({ name }) => [name, `grad:${name}`]))
  const outside = <T extends OnnxValue>(values: readonly T[]) => values.filter(({ name }) => !inner.has(name))
  return {
    ...model,
    nodes: [...before, ...model.nodes, ...build.take()],
    initializers: [...model.initializers, ...build.initializers],
    inputs: [
      ...outside(model.inputs),
      ...tables.flatMap(({ name, dim, rule }) => tableValues(name, dim, rule)),
      ...tables.flatMap(({ dim, rows }) => rows.flatMap((own) => rowsValues(own, dim))),
    ],
    outputs: [
      ...outside(model.outputs),
      ...tables
        .filter(({ name }) => trained.has(name))
        .map(({ name, dim, rule }) => wholeTable(trainedTable(name), name, dim, rule)),
    ],
  }
}

const wholeTable = (name: string, table: string, dim: number, { states }: TableRule): OnnxValue => ({
  name,
  shape: [`rows of ${table}`, (1 + states) * dim],
  dtype: 'float32',
})

function tableValues(name: string, dim: number, rule: TableRule): OnnxValue[] {
  const { table, unique, merged, rate, aux } = tableInputs(name)
  return [
    wholeTable(table, name, dim, rule),
    { name: unique, shape: [unique], dtype: 'int32' },
    { name: merged, shape: [unique, dim], dtype: 'float32' },
    { name: rate, shape: [1], dtype: 'float32' },
    { name: aux, shape: [1], dtype: 'float32' },
  ]
}

function rowsValues({ name, shape: own }: ProgramRows, dim: number): OnnxValue[] {
  const { inverse, cell, factor, pooled, shape } = rowsInputs(name)
  return [
    { name: inverse, shape: [inverse], dtype: 'int32' },
    { name: cell, shape: [inverse], dtype: 'int32' },
    { name: factor, shape: [inverse, 1], dtype: 'float32' },
    { name: pooled, shape: [pooled, dim], dtype: 'float32' },
    { name: shape, shape: [own.length], dtype: 'int64' },
  ]
}

/** A rule's arithmetic for all rows at once: ops by type, and numbers as constants. */
interface Arithmetic {
  readonly op: (type: string, ...inputs: string[]) => string
  readonly number: (value: number) => string
  readonly rate: string
  readonly aux: string
}

type RuleNodes = (rule: TableRule, w: string, state: readonly string[], g: string, by: Arithmetic) => string[]

/** What assembly/rules.ts does: the weight and its states after the step. */
const RULE_NODES: Readonly<Record<string, RuleNodes>> = {
  sgd: (_, w, _state, g, { op, rate }) => [op('Sub', w, op('Mul', g, rate))],
  momentum: ({ a, flags }, w, [u0], g, { op, number, rate }) => {
    const u = op('Add', op('Mul', u0!, number(a)), g)
    const step = flags === 0 ? u : op('Add', g, op('Mul', u, number(a)))
    return [op('Sub', w, op('Mul', step, rate)), u]
  },
  adagrad: ({ a }, w, [h0], g, { op, number, rate }) => {
    const h = op('Add', h0!, op('Mul', g, g))
    return [op('Sub', w, op('Div', op('Mul', g, rate), op('Add', op('Sqrt', h), number(a)))), h]
  },
  rmsprop: ({ a, b, c, flags }, w, [h0, u0, k0], g, by) => {
    const { op, number, rate } = by
    const h = decayed(a, h0!, op('Mul', g, g), by)
    const k = flags === 0 ? undefined : decayed(a, k0!, g, by)
    const d = k === undefined ? h : op('Sub', h, op('Mul', k, k))
    const step = op('Div', op('Mul', g, rate), op('Sqrt', op('Add', d, number(b))))
    const u = op('Add', op('Mul', u0!, number(c)), step)
    return [op('Sub', w, u), h, u, ...(k === undefined ? [] : [k])]
  },
  adam: ({ a, b }, w, [m0, v0], g, by) => {
    const { op, rate, aux } = by
    const [m, v] = [decayed(a, m0!, g, by), decayed(b, v0!, op('Mul', g, g), by)]
    return [op('Sub', w, op('Div', op('Mul', m, rate), op('Add', op('Sqrt', v), aux))), m, v]
  },
  ftrl: ({ a, b }, w, [n0, z0], g, { op, number, rate }) => {
    const n = op('Add', n0!, op('Mul', g, g))
    const root = op('Sqrt', n)
    const moved = op('Mul', op('Div', op('Sub', root, op('Sqrt', n0!)), rate), w)
    const z = op('Sub', op('Add', z0!, g), moved)
    // sign(z) max(|z| - l1, 0) is what is left of z, without a comparison.
    const left = op('Mul', op('Sign', z), op('Relu', op('Sub', op('Abs', z), number(a))))
    return [op('Neg', op('Div', left, op('Add', op('Div', root, rate), number(2 * b)))), n, z]
  },
}

/** Rules that a graph has. */
export const TABLE_STEP_RULES: readonly string[] = Object.keys(RULE_NODES)

const decayed = (keep: number, old: string, value: string, { op, number }: Arithmetic) =>
  op('Add', op('Mul', old, number(keep)), op('Mul', value, number(Math.fround(1 - keep))))

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
  gather(table: string, dim: number, all: readonly ProgramRows[]): void {
    const names = tableInputs(table)
    const own = this.#node('Gather', [names.table, names.unique], { axis: 0 })
    const weights = this.#columns(own, 0, dim)
    for (const rows of all) {
      const { inverse, cell, factor, pooled, shape } = rowsInputs(rows.name)
      const each = this.#node('Mul', [this.#node('Gather', [weights, inverse], { axis: 0 }), factor])
      this.#node('Reshape', [this.#add(pooled, cell, each), shape], {}, rows.name)
    }
  }

  /** Gradients of the program into the rows. */
  update(table: string, dim: number, all: readonly ProgramRows[], rule: TableRule): void {
    const names = tableInputs(table)
    let gradient = names.merged
    for (const rows of all) {
      const { inverse, cell, factor } = rowsInputs(rows.name)
      const cells = this.#node('Reshape', [`grad:${rows.name}`, this.#ints([-1, dim])])
      const each = this.#node('Mul', [this.#node('Gather', [cells, cell], { axis: 0 }), factor])
      gradient = this.#add(gradient, inverse, each)
    }
    const own = this.#node('Gather', [names.table, names.unique], { axis: 0 })
    const [weight, ...state] = Array.from({ length: 1 + rule.states }, (_, i) =>
      this.#columns(own, i * dim, (i + 1) * dim),
    )
    const op = (type: string, ...inputs: string[]) => this.#node(type, inputs)
    const { rate, aux } = names
    const by = { op, number: (value: number) => this.#number(value), rate, aux }
    // FTRL has its own l1 and l2, so that the plain decay is not for it.
    const decays = (rule.l2 ?? 0) !== 0 && rule.rule !== 'ftrl'
    const g = decays ? op('Add', gradient, op('Mul', weight!, by.number(rule.l2!))) : gradient
    const trained = RULE_NODES[rule.rule]!(rule, weight!, state, g, by)
    const whole = trained.length === 1 ? trained[0]! : this.#node('Concat', trained, { axis: 1 })
    this.#node('ScatterND', [names.table, this.#indices(names.unique), whole], {}, trainedTable(table))
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
