/** @file Embeddings: rows of tables for ids, and how the rows of a sample become one. */

import { UserError } from '../../../base/util/index.ts'
import { maskedMax } from '../../../graph/nn/index.ts'
import {
  cast,
  type EntryPolicy,
  equal,
  gather,
  mul,
  pad,
  reshape,
  slice,
  sub,
  sum,
  type Tensor,
  unsqueeze,
} from '../../../graph/program/index.ts'
import { type ParamAttr, parameterOf } from '../attr.ts'
import { notNumbers } from '../errors.ts'
import type { Program, TableOptions } from '../program.ts'
import { POOL_TYPES, type PoolType, slotName, tensorOf, Variable, variableOf } from '../variable.ts'

export interface EmbeddingOptions {
  /** int64 data. */
  readonly input: Variable
  /** Rows and columns. A table takes any id, whatever the number of rows says. */
  readonly size: readonly [rows: number, dim: number]
  /** false: a parameter of the graph instead of a table, for data of a fixed shape. @default false */
  readonly isSparse?: boolean
  /** Kept for fluid's sake: where a table lives is decided by whoever distributes the program. */
  readonly isDistributed?: boolean
  /** Ids that get zeros; only where the embedding is a parameter. */
  readonly paddingIdx?: number | undefined
  /** @default Xavier uniform */
  readonly paramAttr?: ParamAttr | undefined
}

/** Rows of the ids: for lodLevel 1 a sequence that sequencePool takes, else [-1, dim]. */
export function embedding({ input, size, isSparse = false, paddingIdx, paramAttr }: EmbeddingOptions): Variable {
  const [rows, dim] = size
  checkIds(input)
  const name = input.program.uniqueName('embedding')
  const { trainable: _, ...own } = parameterOf(paramAttr, `${name}.w_0`, { kind: 'xavier_uniform' })
  if (!isSparse && input.lodLevel === 0) return gathered(input, name, { ...own, shape: [rows, dim] }, paddingIdx)
  if (paddingIdx !== undefined) throw noPadding(input.name)
  return lookedUp(input, name, own.name, { ...own, rows, dim })
}

export const TABLE_CLASSES = ['CommonSparseTable', 'SSDSparseTable', 'MemorySparseTable'] as const
export type TableClass = (typeof TABLE_CLASSES)[number]

export interface SparseEmbeddingOptions extends Pick<EmbeddingOptions, 'input' | 'size' | 'paramAttr' | 'paddingIdx'> {
  /** Which ids get a row, made by fluid.CountFilterEntry and its like. @default all */
  readonly entry?: EntryPolicy | undefined
  /** Rows live in memory, whichever class is named. @default 'MemorySparseTable' */
  readonly tableClass?: TableClass | undefined
}

/** `fluid.contrib.layers.sparse_embedding`: a table on the servers of any number of rows. */
export function sparseEmbedding({
  entry,
  tableClass,
  input,
  size,
  paramAttr,
  paddingIdx,
}: SparseEmbeddingOptions): Variable {
  checkIds(input)
  if (paddingIdx !== undefined) throw noPadding(input.name)
  if (tableClass !== undefined && !TABLE_CLASSES.includes(tableClass)) throw unknownClass(tableClass)
  const [rows, dim] = size
  const name = input.program.uniqueName('embedding')
  const { trainable: _, ...own } = parameterOf(paramAttr, `${name}.w_0`, { kind: 'xavier_uniform' })
  return lookedUp(input, name, own.name, { ...own, rows, dim, entry })
}

export interface SequencePoolOptions {
  /** What `embedding` returned for data with lodLevel 1. */
  readonly input: Variable
  readonly poolType: PoolType
}

/** The rows of a sample as one: [-1, dim]. */
export function sequencePool({ input, poolType }: SequencePoolOptions): Variable {
  const { program, source } = input
  if (source.kind !== 'sequence')
    throw notNumbers(
      input.name,
      'not a sequence',
      'pass what fluid.layers.embedding returned for data with lodLevel: 1',
    )
  if (!POOL_TYPES.includes(poolType)) throw unknownPool(poolType)
  const { lookup } = source
  const name = program.uniqueName('sequence_pool')
  const pooling = POOLINGS[poolType]
  if (pooling) {
    const shape = [-1, lookup.dim]
    return new Variable(program, { name, dtype: 'float32', shape, source: { kind: 'pooled', lookup, pooling } })
  }
  const { ids, table, dim } = lookup
  const { builder } = program
  const x = builder.rows({
    name,
    table,
    slots: [slotName(ids)],
    dim,
    pooling: 'sequence',
    ...program.tableSpec(table),
  })
  return variableOf(program, `${name}.tmp_0`, PICK[poolType as keyof typeof PICK](x, builder.maskOf(x)))
}

const POOLINGS: Partial<Record<PoolType, 'sum' | 'mean' | 'sqrtn'>> = { sum: 'sum', average: 'mean', sqrt: 'sqrtn' }

/** Pools over the padded rows x [B, T, dim] with their mask [B, T]. */
const PICK = {
  max: maskedMax,
  first: (x: Tensor) => reshape(slice(x, 1, 0, 1), [x.shape[0]!, x.shape[2]!]),
  last: (x: Tensor, mask: Tensor) => {
    // 1 where a sign has none behind it.
    const behind = slice(pad(mask, 1, 0, 1), 1, 1)
    return sum(mul(x, unsqueeze(sub(mask, behind), 2)), 1)
  },
} as const

function lookedUp(ids: Variable, name: string, table: string, options: TableOptions): Variable {
  const { program } = ids
  declareTable(program, table, options)
  const { dim } = options
  const width = ids.shape[1] ?? 1
  const lookup = { ids, table, dim }
  const common = { name: `${name}.tmp_0`, dtype: 'float32' } as const
  if (ids.lodLevel > 0)
    return new Variable(program, { ...common, shape: [-1, dim], lodLevel: 1, source: { kind: 'sequence', lookup } })
  if (width === 1)
    return new Variable(program, { ...common, shape: [-1, dim], source: { kind: 'pooled', lookup, pooling: 'sum' } })
  const slots = [slotName(ids)]
  const rows = program.builder.rows({
    name,
    table,
    slots,
    dim,
    pooling: 'sequence',
    length: width,
    ...program.tableSpec(table),
  })
  return variableOf(program, `${name}.tmp_0`, rows)
}

function gathered(
  ids: Variable,
  name: string,
  options: Parameters<Program['parameter']>[0],
  paddingIdx: number | undefined,
): Variable {
  const { program } = ids
  const indices = tensorOf(ids)
  const [, dim = 1] = options.shape
  const rows = gather(program.parameter(options), indices)
  const flat = ids.shape[1] === 1 && ids.shape.length === 2
  const x = flat ? reshape(rows, ['B', dim]) : rows
  if (paddingIdx === undefined) return variableOf(program, `${name}.tmp_0`, x)
  const padding = paddingIdx < 0 ? options.shape[0]! + paddingIdx : paddingIdx
  return variableOf(program, `${name}.tmp_0`, mul(x, keptIds(indices, padding, x)))
}

/** 0 where an id is the padding's, else 1; shaped to go with the rows. */
function keptIds(ids: Tensor, padding: number, x: Tensor): Tensor {
  const own = x.shape.length === ids.shape.length ? ids : unsqueeze(ids, ids.shape.length)
  return sub(1, cast(equal(own, padding), 'float32'))
}

function declareTable(program: Program, name: string, options: TableOptions): void {
  const known = program.tables.get(name)
  if (known && known.dim !== options.dim)
    throw new UserError(`table "${name}" is shared by embeddings of ${known.dim} and of ${options.dim} columns`, {
      code: 'FLUID_PARAMETER',
      hint: 'give one of them another name in its paramAttr',
    })
  if (!known) program.tables.set(name, options)
}

function checkIds(input: Variable): void {
  if (input.source.kind === 'data' && input.dtype === 'int64') return
  throw notNumbers(
    input.name,
    'no int64 data',
    "ids come from fluid.layers.data({ name, shape: [1], dtype: 'int64', lodLevel: 1 })",
  )
}

function noPadding(name: string): UserError {
  return new UserError(`paddingIdx does not go with the table of "${name}"`, {
    code: 'FLUID_INPUT',
    hint: 'leave the padding out of the samples (lodLevel: 1 takes any number of ids), or use isSparse: false',
  })
}

function unknownClass(tableClass: string): UserError {
  return new UserError(`tableClass is one of ${TABLE_CLASSES.join(', ')}, not "${tableClass}"`, {
    code: 'FLUID_INPUT',
    hint: "tableClass: 'MemorySparseTable'",
  })
}

function unknownPool(poolType: string): UserError {
  return new UserError(`sequencePool knows ${POOL_TYPES.join(', ')}, not "${poolType}"`, {
    code: 'FLUID_INPUT',
    hint: "poolType: 'sum'",
  })
}
