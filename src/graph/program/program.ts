/** @file The program: an immutable graph in SSA form, plain data that crosses threads. It knows nothing of how it is run. */
import type { Dim, Shape } from './dim.ts'
import type { DType, Op, Operands, OpKind } from './op.ts'

/** How weights begin; the values themselves are drawn where the weight lives. */
export type Initializer =
  | { readonly kind: 'zeros' }
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
  | { readonly kind: 'normal'; readonly mean: number; readonly std: number }
  /** Redrawn beyond two standard deviations. */
  | { readonly kind: 'truncated_normal'; readonly mean: number; readonly std: number }
  /** Fans are the first and last dimension of a parameter (fan_in = 1 for a table row). */
  | { readonly kind: 'xavier_uniform' }
  | { readonly kind: 'xavier_normal' }
  | { readonly kind: 'kaiming_uniform' }
  | { readonly kind: 'kaiming_normal' }
  /** Normal with a deviation of 1 / sqrt(fan in). */
  | { readonly kind: 'lecun_normal' }

export const POOLINGS = ['sum', 'mean', 'sqrtn', 'sequence'] as const
/** How the rows of several ids become one: added, averaged, or divided by the root of their number. */
export type Pooling = (typeof POOLINGS)[number]

/** Which signs get a row of a table, and where their show and click come from. */
export type EntryPolicy =
  /** The sign was in `count` batches. */
  | { readonly kind: 'count_filter'; readonly count: number }
  /** Each time a batch shows a sign without a row it gets one with this chance. */
  | { readonly kind: 'probability'; readonly probability: number }
  /** Names of the dense slots that hold a sample's show and click. */
  | { readonly kind: 'show_click'; readonly show: string; readonly click: string }

/** A sparse table: rows by sign, outside the graph. */
export interface TableSpec {
  readonly name: string
  readonly dim: number
  readonly init: Initializer
  readonly entry?: EntryPolicy | undefined
}

/** An embedding input: rows of a table, looked up and pooled outside the graph. */
export interface RowsSpec {
  readonly name: string
  readonly table: string
  readonly slots: readonly string[]
  readonly dim: number
  readonly pooling: Pooling
  /**
   * Only for `sequence`: the padded length, where a layer must know it (recurrent ones), or a symbol, so that sequences of one
   * symbol are padded alike; otherwise the symbol `T_<slot>`.
   */
  readonly length?: Dim | undefined
}

/** A dense weight. `l2` and `learningRate` (a factor) are for the optimizer. */
export interface ParameterSpec {
  readonly name: string
  readonly shape: readonly number[]
  readonly init: Initializer
  readonly trainable?: boolean | undefined
  readonly l2?: number | undefined
  readonly learningRate?: number | undefined
}

/** A value that is read and returned by each step; `merge` is the rule for several workers. */
export interface StateSpec {
  readonly name: string
  readonly shape: readonly number[]
  readonly init: Initializer
  readonly merge: 'mean' | 'sum' | 'max'
}

/** What every value has. */
export interface TensorType {
  readonly shape: Shape
  readonly dtype: DType
}

interface Value extends TensorType {
  /** The value's number, unique in its program. */
  readonly value: number
}

export interface Feed extends Value {
  readonly name: string
}
/** `mask` (sequence pooling only) is the value of the feed `<name>.mask`. */
export type ProgramRows = RowsSpec & Value & { readonly mask?: number | undefined }
export type ProgramParameter = ParameterSpec & Value
/** `next` is the value to keep after the step, fetched under the name `stateFetch(name)`. */
export type ProgramState = StateSpec & Value & { readonly next?: number | undefined }

export interface Node extends Value {
  readonly op: Op
  readonly inputs: readonly number[]
  /** Where a user's file asked for it, `model.ts:31`; kept for --debug-nan alone, since looking takes time. */
  readonly place?: string | undefined
}

export interface Fetch extends Value {
  readonly name: string
}

/** What stands for each operand of a node in a table of rules; every op is emitted with as many as its kind takes. */
export function operandsOf<T>({ inputs }: Pick<Node, 'inputs'>, find: (value: number) => T): Operands<OpKind, T> {
  return inputs.map(find) as unknown as Operands<OpKind, T>
}

/** Nodes stand in an order in which each uses only what came before. */
export interface Program {
  readonly feeds: readonly Feed[]
  readonly rows: readonly ProgramRows[]
  readonly tables: readonly TableSpec[]
  readonly parameters: readonly ProgramParameter[]
  readonly state: readonly ProgramState[]
  readonly nodes: readonly Node[]
  readonly fetches: readonly Fetch[]
}

/** A named input: what a run must be given. */
export type ProgramInput = Feed | ProgramRows | ProgramParameter | ProgramState

const STATE_FETCH = 'state:'

/** The fetch that holds the next value of a state. */
export function stateFetch(name: string): string {
  return `${STATE_FETCH}${name}`
}

/** The fetches that were asked for, without those that carry state on. */
export function ownFetches({ fetches }: Program): readonly Fetch[] {
  return fetches.filter(({ name }) => !name.startsWith(STATE_FETCH))
}

/** Every input, in the order feeds, rows, parameters, state. */
export function programInputs(program: Program): readonly ProgramInput[] {
  return [...program.feeds, ...program.rows, ...program.parameters, ...program.state]
}

/** Shape and dtype by value number. */
export function programTypes(program: Program): ReadonlyMap<number, TensorType> {
  return new Map([...programInputs(program), ...program.nodes].map((item) => [item.value, item]))
}
