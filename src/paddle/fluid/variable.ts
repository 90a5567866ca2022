/** @file Variables: what layers take and return. Data and embeddings become tensors when a layer needs them as such. */
import type { Dim, DType, Tensor } from '../../graph/program/index.ts'
import { notNumbers, usedBothWays } from './errors.ts'
import type { Program } from './program.ts'

export const POOL_TYPES = ['sum', 'average', 'sqrt', 'max', 'first', 'last'] as const
export type PoolType = (typeof POOL_TYPES)[number]

/** Rows of a table for the signs of one data. */
export interface Lookup {
  readonly ids: Variable
  readonly table: string
  readonly dim: number
}

export const AUC_PARTS = ['auc', 'batch_auc', 'batch_stat_pos', 'batch_stat_neg', 'stat_pos', 'stat_neg'] as const
export type AucPart = (typeof AUC_PARTS)[number]

export type Source =
  | { readonly kind: 'tensor'; readonly tensor: Tensor }
  /** What is fed or read; values per sample. */
  | { readonly kind: 'data'; readonly dims: readonly number[] }
  /** Rows of every sign, any number per sample, before they are pooled. */
  | { readonly kind: 'sequence'; readonly lookup: Lookup }
  /** Rows pooled per sample: looked up together with its neighbours where a concat finds them side by side. */
  | { readonly kind: 'pooled'; readonly lookup: Lookup; readonly pooling: 'sum' | 'mean' | 'sqrtn' }
  /** Measured outside the graph. */
  | { readonly kind: 'auc'; readonly part: AucPart; readonly measure: AucMeasure }

export interface AucMeasure {
  readonly name: string
  readonly prediction: Variable
  readonly label: Variable
  /** Batches that the batch AUC looks back on. */
  readonly slideSteps: number
}

export interface VariableOptions {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly lodLevel?: number | undefined
  readonly source: Source
}

/** What a layer returns: a value of the program. */
export class Variable {
  readonly program: Program
  readonly name: string
  readonly dtype: DType
  /** -1 stands for the samples of a batch. */
  readonly shape: readonly number[]
  /** 1: any number of values per sample. */
  readonly lodLevel: number
  readonly source: Source
  /** How data and pooled rows were settled: as a tensor, or as signs that tables look up. */
  settled: { readonly kind: 'tensor'; readonly tensor: Tensor } | { readonly kind: 'signs' } | undefined

  constructor(program: Program, { name, dtype, shape, lodLevel = 0, source }: VariableOptions) {
    this.program = program
    this.name = name
    this.dtype = dtype
    this.shape = shape
    this.lodLevel = lodLevel
    this.source = source
    program.add(this)
  }

  toString(): string {
    return `var ${this.name} : ${this.dtype}[${this.shape.join(', ')}]${this.lodLevel > 0 ? ` lod_level ${this.lodLevel}` : ''}`
  }
}

/** A variable that a tensor is the value of. */
export function variableOf(program: Program, name: string, tensor: Tensor): Variable {
  const shape = tensor.shape.length === 0 ? [1] : tensor.shape.map(shownDim)
  return new Variable(program, { name, dtype: tensor.dtype, shape, source: { kind: 'tensor', tensor } })
}

/** The variable as a tensor; the first use as one settles what data is read as. */
export function tensorOf(variable: Variable): Tensor {
  const { source, settled, name } = variable
  if (settled?.kind === 'tensor') return settled.tensor
  if (settled?.kind === 'signs') throw usedBothWays(name)
  const tensor = (TENSORS[source.kind] as Rule<Source['kind']>)(variable, source)
  variable.settled = { kind: 'tensor', tensor }
  return tensor
}

type Rule<K extends Source['kind']> = (variable: Variable, source: Extract<Source, { kind: K }>) => Tensor

const TENSORS: { readonly [K in Source['kind']]: Rule<K> } = {
  tensor: (_, { tensor }) => tensor,
  data: ({ name, dtype, lodLevel, program }, { dims }) => {
    if (lodLevel > 0) throw notNumbers(name, 'data with any number of values per sample', POOL_HINT)
    return program.builder.feed(name, ['B', ...dims], dtype)
  },
  sequence: ({ name }) => {
    throw notNumbers(name, 'a sequence of rows', POOL_HINT)
  },
  pooled: ({ name, program }, source) => pooledRows(program, name, [source]),
  auc: ({ name }) => {
    throw notNumbers(name, 'measured over batches', 'put it into fetchList')
  },
}

const POOL_HINT = "fluid.layers.sequencePool({ input: fluid.layers.embedding({ input, size }), poolType: 'sum' })"

/** Rows of one table for several data side by side: one lookup for all. */
export function pooledRows(
  program: Program,
  name: string,
  sources: readonly Extract<Source, { kind: 'pooled' }>[],
): Tensor {
  const { lookup, pooling } = sources[0]!
  const { table, dim } = lookup
  const slots = sources.map(({ lookup: { ids } }) => slotName(ids))
  return program.builder.rows({ name, table, slots, dim, pooling, ...program.tableSpec(table) })
}

/** The name of data that tables look up; settles that it is read as signs. */
export function slotName(ids: Variable): string {
  if (ids.settled?.kind === 'tensor') throw usedBothWays(ids.name)
  ids.settled = { kind: 'signs' }
  return ids.name
}

/** The batch and other sizes that are known at run time show as -1. */
function shownDim(dim: Dim): number {
  return typeof dim === 'number' ? dim : -1
}
