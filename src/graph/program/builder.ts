/** @file The builder: declares inputs, appends ops in SSA form (equal ops on equal operands are one value), freezes a Program. */
import { UserError } from '../../base/util/index.ts'
import { checkDim, checkParameter, checkRows, currentPlace, unnamed } from './checks.ts'
import { type Dim, formatShape, type Shape, sameShape } from './dim.ts'
import type { DType, Op, Operands, OpKind } from './op.ts'
import type {
  Feed,
  Fetch,
  Node,
  ParameterSpec,
  Program,
  ProgramParameter,
  ProgramRows,
  ProgramState,
  RowsSpec,
  StateSpec,
  TableSpec,
  TensorType,
} from './program.ts'
import { programInputs, stateFetch } from './program.ts'
import { explain } from './shape-checks.ts'
import { SHAPE_RULES, type ShapeRule } from './shape-rules.ts'
import { createTensor, type ReadTensor, type Tensor, type TensorValues } from './tensor.ts'
import { freezeProgram } from './verify.ts'

/** The feed that randomness in the graph comes from: one int32, another at every step. */
export const RANDOM_SEED = 'random.seed'

export type { ReadTensor, Tensor, TensorValues }

export class Builder {
  /** Set in a dynamic graph: computes values of the step under way. */
  readonly read: ReadTensor | undefined
  /** What layers remember for this graph alone, each under itself; a WeakMap from builders in each would burden every collection. */
  readonly kept = new Map<object | symbol, unknown>()
  readonly #tensors: Tensor[] = []
  readonly #nodes = new Map<number, Node>()
  readonly #feeds: Feed[] = []
  readonly #rows: ProgramRows[] = []
  readonly #tables = new Map<string, TableSpec>()
  readonly #parameters: ProgramParameter[] = []
  readonly #state: ProgramState[] = []
  readonly #names = new Map<string, string>()
  readonly #known = new Map<string, Tensor>()
  readonly #path: string[] = []
  /** Where what is emitted now was asked for: what a rewrite puts in an op's place has that op's. */
  #place: string | undefined
  /** What was declared and emitted, line by line. */
  readonly #trace: string[] = []

  constructor({ read }: { readonly read?: ReadTensor | undefined } = {}) {
    this.read = read
  }

  /** A builder that goes on where a program ended; its values keep their numbers. */
  static from(program: Program): Builder {
    const builder = new Builder()
    builder.#copyInputs(program)
    for (const item of [...programInputs(program), ...program.nodes]) {
      builder.#tensors[item.value] = createTensor(builder, item.value, item)
    }
    for (const node of program.nodes) {
      builder.#nodes.set(node.value, node)
      builder.#known.set(keyOf(node.op, node.inputs), builder.tensor(node.value))
    }
    return builder
  }

  /** The step's random seed, one int32 that whoever runs the program feeds anew at every step; declared at first use. */
  seed(): Tensor {
    const known = this.#feeds.find(({ name }) => name === RANDOM_SEED)
    return known ? this.tensor(known.value) : this.feed(RANDOM_SEED, [1], 'int32')
  }

  /** What the data gives: shape with the symbol `B` for the batch, e.g. `feed('dense', ['B', 13], 'float32')`. */
  feed(name: string, shape: Shape, dtype: DType): Tensor {
    this.#claim(name, 'feed')
    for (const dim of shape) checkDim(name, dim)
    const tensor = this.#add({ shape, dtype })
    this.#trace.push(`feed ${name} ${dtype} ${shape}`)
    this.#feeds.push({ name, shape, dtype, value: tensor.id })
    return tensor
  }

  /** Declares a table whether or not rows of it are used. */
  table(spec: TableSpec): void {
    const known = this.#tables.get(spec.name)
    if (known && keyOf(known, []) !== keyOf(spec, [])) {
      throw new UserError(
        `Table ${spec.name} is declared twice, with dim ${known.dim} and ${JSON.stringify(known.init)}, then with dim ${spec.dim} and ${JSON.stringify(spec.init)}.`,
        {
          code: 'PROGRAM_TABLE',
          hint: 'Embeddings that share a table need the same dim and init; otherwise give one of them its own table.',
        },
      )
    }
    this.#tables.set(spec.name, spec)
  }

  /** Rows of a sparse table: pooled `[B, slots * dim]`, or for `sequence` `[B, T_<slot>, dim]` with a mask (see `maskOf`). */
  rows({ init, entry, ...spec }: RowsSpec & Pick<TableSpec, 'init' | 'entry'>): Tensor {
    checkRows(spec)
    this.table({ name: spec.table, dim: spec.dim, init, entry })
    this.#claim(spec.name, 'rows')
    const length: Dim = spec.length ?? `T_${spec.slots[0]!.replaceAll(/\W/g, '_')}`
    const sequence = spec.pooling === 'sequence'
    const shape = sequence ? ['B', length, spec.dim] : ['B', spec.slots.length * spec.dim]
    const tensor = this.#add({ shape, dtype: 'float32' })
    this.#trace.push(`rows ${spec.name} ${spec.table} ${spec.slots} ${spec.pooling} ${shape}`)
    const mask = sequence ? this.feed(`${spec.name}.mask`, ['B', length], 'float32').id : undefined
    this.#rows.push({ ...spec, shape, dtype: 'float32', value: tensor.id, mask })
    return tensor
  }

  /** The mask `[B, T]` of sequence rows: 1 for a sign, 0 for padding. */
  maskOf(rows: Tensor): Tensor {
    const mask = this.#rows.find(({ value }) => value === rows.id)?.mask
    if (mask !== undefined) return this.tensor(mask)
    throw new UserError('This tensor has no mask.', {
      code: 'PROGRAM_MASK',
      hint: "Pass what rows({ pooling: 'sequence' }) returned.",
    })
  }

  /** A dense weight, named by its path: inside `scope('tower', ...)` the name `fc.weight` becomes `tower.fc.weight`. */
  parameter(spec: ParameterSpec): Tensor {
    const name = this.path(spec.name)
    this.#claim(name, 'parameter')
    checkParameter(name, spec)
    const tensor = this.#add({ shape: spec.shape, dtype: 'float32' })
    this.#trace.push(`parameter ${name} ${spec.shape}`)
    this.#parameters.push({ ...spec, name, dtype: 'float32', value: tensor.id })
    return tensor
  }

  /** A value read and returned by every step; give its next value with `setState`. */
  state(spec: StateSpec): Tensor {
    const name = this.path(spec.name)
    this.#claim(name, 'state')
    const tensor = this.#add({ shape: spec.shape, dtype: 'float32' })
    this.#trace.push(`state ${name} ${spec.shape}`)
    this.#state.push({ ...spec, name, dtype: 'float32', value: tensor.id })
    return tensor
  }

  setState(state: Tensor, next: Tensor): void {
    const index = this.#state.findIndex(({ value }) => value === state.id)
    if (index < 0)
      throw new UserError('setState was given a tensor that is not state.', {
        code: 'PROGRAM_STATE',
        hint: 'Pass what state() returned.',
      })
    const { name, shape } = this.#state[index]!
    if (!sameShape(shape, next.shape))
      throw new UserError(`State ${name} is ${formatShape(shape)} but its next value is ${formatShape(next.shape)}.`, {
        code: 'PROGRAM_STATE',
        hint: 'Reshape the next value.',
      })
    this.#trace.push(`next ${name} ${next.id}`)
    this.#state[index] = { ...this.#state[index]!, next: next.id }
  }

  /** Names made inside `body` begin with `name.`. */
  scope<T>(name: string, body: () => T): T {
    this.#path.push(name)
    try {
      return body()
    } finally {
      this.#path.pop()
    }
  }

  /** What `body` emits was asked for at `place`. */
  at<T>(place: string | undefined, body: () => T): T {
    this.#place = place
    try {
      return body()
    } finally {
      this.#place = undefined
    }
  }

  /** A name under the current scopes. */
  path(name: string): string {
    return [...this.#path, name].join('.')
  }

  /** Appends an op; the functions beside this file are the comfortable way. */
  emit<K extends OpKind>(op: Op<K>, inputs: readonly Tensor[]): Tensor {
    const foreign = inputs.find(({ builder }) => builder !== this)
    if (foreign)
      throw new UserError(`${op.kind} mixes tensors of two programs.`, {
        code: 'PROGRAM_BUILDER',
        hint: 'Make all operands with one Builder.',
      })
    const ids = inputs.map(({ id }) => id)
    const key = keyOf(op, ids)
    const known = this.#known.get(key)
    if (known) return known
    const tensor = this.#add(inferType(op as Op, inputs))
    this.#nodes.set(tensor.id, {
      value: tensor.id,
      op: op as Op,
      inputs: ids,
      shape: tensor.shape,
      dtype: tensor.dtype,
      place: this.#place ?? currentPlace(),
    })
    this.#known.set(key, tensor)
    this.#trace.push(key)
    return tensor
  }

  /**
   * Equal for builders that would build programs of one structure, initial values aside. Much cheaper than building:
   * what a step in a dynamic graph looks its session up by.
   */
  fingerprint(fetches: Readonly<Record<string, Tensor>>): string {
    const outputs = Object.entries(fetches).map(([name, { id }]) => `fetch ${name} ${id}`)
    return [...this.#trace, ...outputs].join('\n')
  }

  /** The tensor of a value number. */
  tensor(id: number): Tensor {
    const tensor = this.#tensors[id]
    if (!tensor) throw new Error(`internal: no value %${id}`)
    return tensor
  }

  /** The op and operands that make a tensor; undefined for an input. */
  definition({ id }: Tensor): { readonly op: Op; readonly inputs: readonly Tensor[] } | undefined {
    const node = this.#nodes.get(id)
    return node && { op: node.op, inputs: node.inputs.map((input) => this.tensor(input)) }
  }

  /** Freezes the program. Nodes that no fetch and no state needs are left out; inputs all stay. */
  build(fetches: Readonly<Record<string, Tensor>>): Program {
    const state = this.#state
      .filter(({ next }) => next !== undefined)
      .map(({ name, next }) => [stateFetch(name), this.tensor(next!)] as const)
    const all = { ...fetches, ...Object.fromEntries(state) }
    const outputs = Object.entries(all).map(
      ([name, { id, shape, dtype }]): Fetch => ({ name, value: id, shape, dtype }),
    )
    const program: Program = {
      feeds: [...this.#feeds],
      rows: [...this.#rows],
      tables: [...this.#tables.values()],
      parameters: [...this.#parameters],
      state: [...this.#state],
      nodes: [...this.#nodes.values()],
      fetches: outputs,
    }
    return freezeProgram(program)
  }

  #add({ shape, dtype }: TensorType): Tensor {
    const tensor = createTensor(this, this.#tensors.length, { shape, dtype })
    this.#tensors.push(tensor)
    return tensor
  }

  #copyInputs({ feeds, rows, tables, parameters, state }: Program): void {
    this.#feeds.push(...feeds)
    this.#rows.push(...rows)
    for (const table of tables) this.#tables.set(table.name, table)
    this.#parameters.push(...parameters)
    this.#state.push(...state)
    for (const { name } of [...feeds, ...rows, ...parameters, ...state]) this.#names.set(name, 'input')
  }

  #claim(name: string, kind: string): void {
    if (typeof name !== 'string' || /(^|\.)(undefined)?(\.|$)/.test(name)) throw unnamed(kind)
    const taken = this.#names.get(name)
    if (taken)
      throw new UserError(`There is already a ${taken} named "${name}".`, {
        code: 'PROGRAM_NAME',
        hint: 'Give this one another name, or wrap it in builder.scope(...).',
      })
    this.#names.set(name, kind)
  }
}

/** The type of an op's result; a mismatch becomes a UserError that names op, operands and the fix. */
function inferType(op: Op, inputs: readonly Tensor[]): TensorType {
  try {
    return (SHAPE_RULES[op.kind] as ShapeRule<OpKind>)(inputs as Operands<OpKind, Tensor>, op)
  } catch (error) {
    const operands = inputs.map(({ shape, dtype }) => `${dtype}${formatShape(shape)}`).join(', ')
    throw explain(`${op.kind}(${operands})`, error)
  }
}

function keyOf(op: object, inputs: readonly number[]): string {
  return JSON.stringify([op, inputs])
}
