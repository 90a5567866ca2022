/** @file Paddle's two layers of the GPU parameter server by their own names: sparse_embedding and continuous_value_model. */
import { type OptionNames, refuseOptions, UserError } from '../../base/util/index.ts'
import { add, concat, type EntryPolicy, type Initializer, log, slice, sub, type Tensor } from '../program/index.ts'
import { embedding, type SparseSlot } from './embedding.ts'

/** Options of sparseEmbedding. */
export interface SparseEmbeddingOptions {
  readonly input: SparseSlot
  /** Rows, which a table here has any number of, and the width of a row. */
  readonly size: readonly [rows: number, dim: number]
  /** Of the table: calls with one name share it, as with one ParamAttr. */
  readonly name: string
  /** @default uniform in [-0.05, 0.05] */
  readonly init?: Initializer | undefined
  /** Which signs get a row. @default every sign */
  readonly entry?: EntryPolicy | undefined
}

export const SPARSE_EMBEDDING: OptionNames<SparseEmbeddingOptions> = {
  input: true,
  size: true,
  name: true,
  init: true,
  entry: true,
}

/** `paddle.static.nn.sparse_embedding`: the rows of one slot, summed where a sample has several signs: [B, dim]. */
export function sparseEmbedding({ input, size, name, init, entry, ...rest }: SparseEmbeddingOptions): Tensor {
  refuseOptions('nn.sparseEmbedding', rest, SPARSE_EMBEDDING)
  const [, dim] = size
  return embedding(input, { name: `${name}.${input.name}`, table: name, dim, init, entry })
}

/**
 * `paddle.static.nn.continuous_value_model`: rows whose first two values are show and click. With `useCvm` these become log(show + 1) and
 * log(click + 1) - log(show + 1); without, they are left out: [B, dim - 2]. `showClick` is [B, 2]; tables with an accessor count both by
 * themselves, so nothing is learned from it.
 */
export function continuousValueModel(input: Tensor, showClick: Tensor, useCvm = true): Tensor {
  const [dim, counted] = [input.shape[1], showClick.shape[1]]
  if (typeof dim !== 'number' || dim < 3 || counted !== 2)
    throw new UserError(
      `nn.continuousValueModel: expected rows of 3 values or more and [B, 2] of show and click, got [${input.shape.join(', ')}] and [${showClick.shape.join(', ')}].`,
      { code: 'NN_EMBEDDING', hint: 'Give sparseEmbedding a size of [rows, dim + 2], and concat show and click.' },
    )
  const rest = slice(input, 1, 2)
  if (!useCvm) return rest
  const show = log(add(slice(input, 1, 0, 1), 1))
  const click = sub(log(add(slice(input, 1, 1, 2), 1)), show)
  return concat([show, click, rest], 1)
}
