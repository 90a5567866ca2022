/** @file Layers over padded sequences x [B, T, d] with a mask [B, T] (1 for an element, 0 for padding). */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  type Builder,
  cast,
  clip,
  concat,
  constant,
  cumsum,
  type Dim,
  div,
  expand,
  gather,
  greater,
  type Initializer,
  MASKED_SCORE,
  maskedSoftmax,
  matmul,
  max,
  maximum,
  mul,
  pad,
  reshape,
  slice,
  softmax,
  sub,
  subDims,
  sum,
  type Tensor,
  takeAlong,
  topK,
  transpose,
  unsqueeze,
  where,
} from '../program/index.ts'
import { linear } from './linear.ts'
import { lengthOf, widthOf } from './shape.ts'

/** 0, 1, .. along a dimension that may be known at run time only: float32 [length]. */
export function positions(builder: Builder, length: Dim): Tensor {
  return cumsum(expand(constant(builder, 1), [length]), 0, { exclusive: true })
}

/** Options of placeEmbedding. */
export interface PlaceEmbeddingOptions {
  /** Of the parameter [length, dim]. */
  readonly name: string
  /** Places; elements before the first one have its vector. */
  readonly length: number
  readonly dim: number
  /** @default normal, 1 / sqrt(dim) */
  readonly init?: Initializer | undefined
}

const PLACE_EMBEDDING: OptionNames<PlaceEmbeddingOptions> = { name: true, length: true, dim: true, init: true }

/** A learned vector for each place, the last element of every sequence having the last one, however long it is, and padding too: mask [B, T] -> [B, T, dim]. */
export function placeEmbedding(mask: Tensor, { name, length, dim, init, ...rest }: PlaceEmbeddingOptions): Tensor {
  refuseOptions('nn.placeEmbedding', rest, PLACE_EMBEDDING)
  const spread = { kind: 'normal', mean: 0, std: 1 / Math.sqrt(dim) } as const
  const vectors = mask.builder.parameter({ name, shape: [length, dim], init: init ?? spread })
  const place = add(positions(mask.builder, mask.shape[1]!), sub(length, sum(mask, 1, true))) // [B, T]
  return gather(vectors, cast(clip(place, 0, length - 1), 'int64'))
}

/** The mean of the elements that are there: [B, d]; zeros for an empty sequence. */
export function maskedMean(x: Tensor, mask: Tensor): Tensor {
  const weights = unsqueeze(mask, -1) // [B, T, 1]
  return div(sum(mul(x, weights), 1), maximum(sum(weights, 1), 1))
}

/** The largest of the elements that are there, in each of d: [B, d]; zeros for an empty sequence. Of equal ones only the first learns. */
export function maskedMax(x: Tensor, mask: Tensor): Tensor {
  const visible = where(greater(unsqueeze(mask, -1), 0), x, MASKED_SCORE)
  const largest = reshape(takeAlong(visible, topK(visible, 1, 1).indices, 1), [x.shape[0]!, x.shape[2]!])
  return where(greater(sum(mask, 1, true), 0), largest, 0)
}

/** Options of dotProductAttention. */
export interface AttentionOptions {
  /** [B, Tk]: keys that count. @default all */
  readonly mask?: Tensor | undefined
  /** @default 1 / sqrt(d) */
  readonly scale?: number | undefined
}

/** softmax(q k' scale) v for q [B, Tq, d], k [B, Tk, d], v [B, Tk, e] -> [B, Tq, e]. */
export function dotProductAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  { mask, scale = 1 / Math.sqrt(widthOf(q, 'attention')), ...rest }: AttentionOptions = {},
): Tensor {
  refuseOptions('nn.dotProductAttention', rest, { mask: true, scale: true } satisfies OptionNames<AttentionOptions>)
  const scores = mul(matmul(q, transpose(k)), scale) // [B, Tq, Tk]
  return matmul(mask ? maskedSoftmax(scores, unsqueeze(mask, 1)) : softmax(scores), v)
}

/** Options of conv1d. */
export interface Conv1dOptions {
  readonly name: string
  /** Channels of the result. */
  readonly out: number
  /** Elements that each result sees. */
  readonly kernel: number
  /** 'same' keeps T by zeros around, 'valid' gives T - kernel + 1. @default 'same' */
  readonly padding?: 'same' | 'valid' | undefined
  /** @default Xavier uniform */
  readonly init?: Initializer | undefined
}

const CONV1D: OptionNames<Conv1dOptions> = { name: true, out: true, kernel: true, padding: true, init: true }

/** Convolution along T. The parameter `<name>.weight` is [kernel * d, out]: the kernel's positions one below the other. */
export function conv1d(x: Tensor, { name, out, kernel, padding = 'same', init, ...rest }: Conv1dOptions): Tensor {
  refuseOptions('nn.conv1d', rest, CONV1D)
  const before = Math.floor((kernel - 1) / 2)
  const padded = padding === 'same' ? pad(x, 1, before, kernel - 1 - before) : x
  const end = padded.shape[1]!
  const windows = Array.from({ length: kernel }, (_, i) => slice(padded, 1, i, subDims(end, kernel - 1 - i)))
  return linear(concat(windows, -1), { name, out, init })
}

/** The largest of every `size` elements that follow each other, without overlap: [B, T, d] -> [B, floor(T / size), d], T being known. */
export function maxPool1d(x: Tensor, { size, ...rest }: { readonly size: number }): Tensor {
  refuseOptions('nn.maxPool1d', rest, { size: true })
  const groups = Math.floor(lengthOf(x, 'maxPool1d') / size)
  const whole = slice(x, 1, 0, groups * size)
  return max(reshape(whole, [x.shape[0]!, groups, size, x.shape[2]!]), 2)
}

/** `next` where the mask [B] is 1, else `previous`: a padded element leaves the state as it was. */
export function keepWhereMasked(next: Tensor, previous: Tensor, mask: Tensor): Tensor {
  return add(previous, mul(unsqueeze(mask, -1), sub(next, previous)))
}

/** Zeros [B, width] for the B of a sequence. */
export function zeroState(x: Tensor, width: number): Tensor {
  return expand(constant(x.builder, 0), [x.shape[0]!, width])
}
