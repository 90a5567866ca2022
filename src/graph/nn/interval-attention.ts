/** @file Causal self-attention that knows how much time lies between two elements, as TiSASRec has it. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  cast,
  expand,
  greaterEqual,
  maskedSoftmax,
  matmul,
  mul,
  reshape,
  scatterAlong,
  type Tensor,
  takeAlong,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import { Layer } from './layer.ts'
import { Dropout, Linear } from './layers.ts'
import { positions } from './sequence.ts'

/** Options of IntervalAttention. */
export interface IntervalAttentionOptions {
  /** Columns of the operand and of the result. */
  readonly in: number
  /** @default 1 */
  readonly heads?: number | undefined
  /** Of what an element sees, the share that a step of training leaves out. @default 0 */
  readonly dropout?: number | undefined
}

const INTERVAL_ATTENTION: OptionNames<IntervalAttentionOptions> = { in: true, heads: true, dropout: true }

/** Vectors that are added to keys and to values. */
export interface KeyValue {
  readonly key: Tensor
  readonly value: Tensor
}

/** What IntervalAttention is given besides queries. */
export interface IntervalAttentionInputs {
  /** [B, T, in]: what keys and values are made of. */
  readonly seen: Tensor
  /** [B, T]: elements that are there. */
  readonly mask: Tensor
  /** [B, T, in]: of the place of each element. */
  readonly places: KeyValue
  /** [B, T, T], int64: the interval between two elements, a row of `lengths`. */
  readonly intervals: Tensor
  /** [intervals, in]: of each interval. */
  readonly lengths: KeyValue
}

/**
 * softmax(q (k + place + interval)' / sqrt(d)) (v + place + interval): layers `query`, `key` and `value`. Products with intervals are made once
 * for each interval and then looked up: a vector for each pair of elements would take T times the memory.
 */
export class IntervalAttention extends Layer {
  readonly #parts: readonly [Linear, Linear, Linear]
  readonly #heads: number
  readonly #width: number
  readonly #dropout: Dropout

  constructor({ in: width, heads = 1, dropout = 0, ...rest }: IntervalAttentionOptions) {
    super()
    refuseOptions('nn.IntervalAttention', rest, INTERVAL_ATTENTION)
    const part = (name: string) => this.addSublayer(name, new Linear({ in: width, out: width }))
    this.#parts = [part('query'), part('key'), part('value')]
    this.#heads = heads
    this.#width = width
    this.#dropout = this.addSublayer('dropout', new Dropout({ rate: dropout }))
  }

  /** [B, T, in] -> [B, T, in]; an element sees itself and those before it. */
  forward(x: Tensor, { seen, mask, places, intervals, lengths }: IntervalAttentionInputs): Tensor {
    const [query, key, value] = this.#parts
    const q = this.#split(query.forward(x)) // [B, heads, T, d]
    const k = this.#split(add(key.forward(seen), places.key))
    const v = this.#split(add(value.forward(seen), places.value))
    const products = matmul(q, transpose(k)) // [B, heads, T, T]
    const at = expand(unsqueeze(intervals, 1), products.shape)
    const ofLengths = matmul(q, transpose(this.#splitRows(lengths.key))) // [B, heads, T, intervals]
    const scale = 1 / Math.sqrt(this.#width / this.#heads)
    const scores = mul(add(products, takeAlong(ofLengths, at, 3)), scale)

    const weights = this.#dropout.forward(maskedSoftmax(scores, visible(mask)))
    const byLength = scatterAlong(at, weights, 3, lengths.value.shape[0]!) // [B, heads, T, intervals]
    const mixed = add(matmul(weights, v), matmul(byLength, this.#splitRows(lengths.value)))
    return reshape(transpose(mixed, [0, 2, 1, 3]), [...x.shape.slice(0, 2), this.#width])
  }

  /** [B, T, in] -> [B, heads, T, in / heads]. */
  #split(x: Tensor): Tensor {
    const shape = [...x.shape.slice(0, 2), this.#heads, this.#width / this.#heads]
    return transpose(reshape(x, shape), [0, 2, 1, 3])
  }

  /** [rows, in] -> [heads, rows, in / heads]. */
  #splitRows(x: Tensor): Tensor {
    return transpose(reshape(x, [x.shape[0]!, this.#heads, this.#width / this.#heads]), [1, 0, 2])
  }
}

/** 1 where an element (the last axis but one) sees another (the last): [B, 1, T, T]. */
function visible(mask: Tensor): Tensor {
  const [batch, length] = mask.shape
  const at = positions(mask.builder, length!)
  const past = cast(greaterEqual(unsqueeze(at, 1), at), 'float32') // [T, T]
  return mul(reshape(mask, [batch!, 1, 1, length!]), past)
}
