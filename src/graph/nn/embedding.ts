/** @file Embeddings over sparse tables: an input of kind `rows`, looked up and pooled outside the graph. */

import { type OptionNames, refuseOptions, UserError } from '../../base/util/index.ts'
import {
  type Builder,
  type Dim,
  type EntryPolicy,
  gather,
  type Initializer,
  type Pooling,
  type Tensor,
} from '../program/index.ts'

/** A sparse input of a model: signs, any number per sample. */
export interface SparseSlot {
  readonly kind: 'sparse'
  readonly name: string
  readonly builder: Builder
}

/** Options of embedding and Embedding. */
export interface EmbeddingOptions {
  /** Names the input; also the table, unless `table` is given. */
  readonly name: string
  /** Embeddings with one table share rows. @default name */
  readonly table?: string | undefined
  readonly dim: number
  /** @default uniform in [-0.05, 0.05] */
  readonly init?: Initializer | undefined
  /** Which signs get a row, and where show and click come from. @default every sign; show 1, click 0 */
  readonly entry?: EntryPolicy | undefined
  /** How the rows of one slot become one: of a slot with one sign all three are that row. @default 'sum' */
  readonly pooling?: Exclude<Pooling, 'sequence'> | undefined
}

export const DEFAULT_EMBEDDING_INIT: Initializer = { kind: 'uniform', low: -0.05, high: 0.05 }

export const EMBEDDING: OptionNames<EmbeddingOptions> = {
  name: true,
  table: true,
  dim: true,
  init: true,
  entry: true,
  pooling: true,
}

/** Pooled rows of one or more slots side by side: [B, slots * dim]. */
export function embedding(
  slots: SparseSlot | readonly SparseSlot[],
  { name, table = name, dim, init = DEFAULT_EMBEDDING_INIT, entry, pooling = 'sum', ...rest }: EmbeddingOptions,
): Tensor {
  refuseOptions('nn.embedding', rest, EMBEDDING)
  const list = [slots].flat() as readonly SparseSlot[]
  const [first] = list
  if (!first)
    throw new UserError(`Embedding ${name}: no slots were given.`, {
      code: 'NN_EMBEDDING',
      hint: 'Pass at least one sparse slot.',
    })
  checkSlots(list)
  return first.builder.rows({
    name: first.builder.path(name),
    table,
    slots: list.map((slot) => slot.name),
    dim,
    pooling,
    init,
    entry,
  })
}

/** Options of sequenceEmbedding and SequenceEmbedding. */
export interface SequenceOptions extends Omit<EmbeddingOptions, 'pooling'> {
  /**
   * The padded length, for layers that must know it (recurrent ones); or a name, 'T_history': sequences of one name get the
   * same length, that of the longest, so that their rows can stand side by side. @default known at run time
   */
  readonly length?: Dim | undefined
}

export const SEQUENCE: OptionNames<SequenceOptions> = {
  name: true,
  table: true,
  dim: true,
  init: true,
  entry: true,
  length: true,
}

/** The rows of one slot in order, padded: x [B, T, dim] and mask [B, T] (1 for a sign, 0 for padding). */
export function sequenceEmbedding(
  slot: SparseSlot,
  { name, table = name, dim, init = DEFAULT_EMBEDDING_INIT, entry, length, ...rest }: SequenceOptions,
): { readonly x: Tensor; readonly mask: Tensor } {
  refuseOptions('nn.sequenceEmbedding', rest, SEQUENCE)
  const { builder } = slot
  const x = builder.rows({
    name: builder.path(name),
    table,
    slots: [slot.name],
    dim,
    pooling: 'sequence',
    init,
    entry,
    length,
  })
  return { x, mask: builder.maskOf(x) }
}

/** Options of denseEmbedding. */
export interface DenseEmbeddingOptions {
  /** The parameter is `<name>.weight` [size, dim]. */
  readonly name: string
  /** Ids are below this. */
  readonly size: number
  readonly dim: number
  /** @default uniform in [-0.05, 0.05] */
  readonly init?: Initializer | undefined
}

const DENSE_EMBEDDING: OptionNames<DenseEmbeddingOptions> = { name: true, size: true, dim: true, init: true }

/** A small embedding as an ordinary parameter: integer ids of any shape -> [.., dim]; returns the weight too, to tie it. */
export function denseEmbedding(
  ids: Tensor,
  { name, size, dim, init = DEFAULT_EMBEDDING_INIT, ...rest }: DenseEmbeddingOptions,
): { readonly x: Tensor; readonly weight: Tensor } {
  refuseOptions('nn.denseEmbedding', rest, DENSE_EMBEDDING)
  const weight = ids.builder.parameter({ name: `${name}.weight`, shape: [size, dim], init })
  return { x: gather(weight, ids), weight }
}

function checkSlots(list: readonly SparseSlot[]): void {
  const other = list.find((slot) => slot?.kind !== 'sparse')
  if (other === undefined && !list.includes(other!)) return
  const isTensor = typeof other === 'object' && other !== null && 'shape' in other
  throw new UserError(`It was given ${isTensor ? 'a tensor' : String(other)} in place of a sparse slot.`, {
    code: 'NN_EMBEDDING',
    hint: isTensor
      ? "Declare the input as signs, inputs: ({ sparse }) => ({ user: sparse('user') }); a dense input goes into layers as it is."
      : 'The name there has no value: check how it is spelt, and that inputs declares it.',
  })
}
