/** @file Self-attention over [B, T, d] with several heads and masks (padding, causal, relative bias), and the transformer layer. T may be known at run time only. */
import { type OptionNames, refuseOptions, unknownOf } from '../../base/util/index.ts'
import {
  add,
  cast,
  clip,
  gather,
  greaterEqual,
  maskedSoftmax,
  matmul,
  mul,
  reshape,
  softmax,
  sub,
  type Tensor,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import type { Activation } from './activation.ts'
import { Layer, type Variable } from './layer.ts'
import { Dropout, LayerNorm, Linear, Mlp } from './layers.ts'
import { positions } from './sequence.ts'

/** Options of SelfAttention. */
export interface SelfAttentionOptions {
  /** Columns of the operand. */
  readonly in: number
  /** Columns of all heads together. @default in */
  readonly out?: number | undefined
  /** @default 1 */
  readonly heads?: number | undefined
  /** An element sees itself and those before it. @default false */
  readonly causal?: boolean | undefined
  /** After queries, keys and values. @default none */
  readonly activation?: Activation | undefined
  /** `false`: queries, keys and values without a bias. @default true */
  readonly bias?: boolean | undefined
  /** `false`: no linear layer over the heads' results. @default true */
  readonly project?: boolean | undefined
  /** `false`: products as they are, not divided by the square root of a head's columns. @default true */
  readonly scaled?: boolean | undefined
  /** Of what an element sees, the share that a step of training leaves out. @default 0 */
  readonly dropout?: number | undefined
}

const SELF_ATTENTION: OptionNames<SelfAttentionOptions> = {
  in: true,
  out: true,
  heads: true,
  causal: true,
  activation: true,
  bias: true,
  project: true,
  scaled: true,
  dropout: true,
}

/** What an element may see. */
export interface AttentionMasks {
  /** [B, T]: elements that are there. @default all */
  readonly mask?: Tensor | undefined
  /** Added to the scores before the softmax: of a shape that broadcasts to [B, heads, T, T]. */
  readonly bias?: Tensor | undefined
  /** [B, T, in]: what keys and values are made of. @default what queries are made of */
  readonly seen?: Tensor | undefined
}

/** softmax(q k' / sqrt(d)) v in each head: layers `query`, `key`, `value` and `out`. */
export class SelfAttention extends Layer {
  readonly #parts: readonly [Linear, Linear, Linear]
  readonly #out: Linear | undefined
  readonly #heads: number
  readonly #width: number
  readonly #causal: boolean
  readonly #scale: number
  readonly #dropout: Dropout

  constructor(options: SelfAttentionOptions) {
    super()
    const { in: width, out = width, heads = 1, causal = false, activation, bias = true, project = true } = options
    const { scaled = true, dropout = 0 } = options
    refuseOptions('nn.SelfAttention', unknownOf(options, SELF_ATTENTION), SELF_ATTENTION)
    const part = (name: string) => {
      const biasInit = bias ? undefined : (false as const)
      return this.addSublayer(name, new Linear({ in: width, out, activation, biasInit }))
    }
    this.#parts = [part('query'), part('key'), part('value')]
    this.#out = project ? this.addSublayer('out', new Linear({ in: out, out })) : undefined
    this.#heads = heads
    this.#width = out
    this.#causal = causal
    this.#scale = scaled ? 1 / Math.sqrt(out / heads) : 1
    this.#dropout = this.addSublayer('dropout', new Dropout({ rate: dropout }))
  }

  /** [B, T, in] -> [B, T, out]. */
  forward(x: Tensor, { mask, bias, seen = x }: AttentionMasks = {}): Tensor {
    const [q, k, v] = this.#parts.map((part, i) => this.#split(part.forward(i === 0 ? x : seen))) // [B, heads, T, d]
    const products = mul(matmul(q!, transpose(k!)), this.#scale) // [B, heads, T, T]
    const scores = bias ? add(products, bias) : products
    const visible = this.#visible(x, mask)
    const weights = visible ? maskedSoftmax(scores, visible) : softmax(scores)
    const mixed = matmul(this.#dropout.forward(weights), v!)
    const joined = reshape(transpose(mixed, [0, 2, 1, 3]), [...x.shape.slice(0, 2), this.#width])
    return this.#out ? this.#out.forward(joined) : joined
  }

  /** [B, T, out] -> [B, heads, T, out / heads]. */
  #split(x: Tensor): Tensor {
    const [batch, length, width] = x.shape
    return transpose(reshape(x, [batch!, length!, this.#heads, Number(width) / this.#heads]), [0, 2, 1, 3])
  }

  /** 1 where an element (the last axis but one) sees another (the last). */
  #visible(x: Tensor, mask?: Tensor): Tensor | undefined {
    const padding = mask && reshape(mask, [mask.shape[0]!, 1, 1, mask.shape[1]!])
    if (!this.#causal) return padding
    const at = positions(x.builder, x.shape[1]!)
    const past = cast(greaterEqual(unsqueeze(at, 1), at), 'float32') // [T, T]
    return padding ? mul(padding, past) : past
  }
}

/** A learned number for each head and each distance up to `length`: `weight` [2 length - 1, heads]. Farther ones count as the farthest. */
export class RelativeBias extends Layer {
  readonly #weight: Variable
  readonly #length: number

  constructor({ length, heads = 1, ...rest }: { readonly length: number; readonly heads?: number | undefined }) {
    super()
    refuseOptions('nn.RelativeBias', rest, { length: true, heads: true })
    const init = { kind: 'zeros' } as const
    this.#weight = this.addParameter({ name: 'weight', shape: [2 * length - 1, heads], init })
    this.#length = length
  }

  /** For x [B, T, d]: [heads, T, T], to be added to scores. */
  forward(x: Tensor): Tensor {
    const at = positions(x.builder, x.shape[1]!)
    const most = this.#length - 1
    const distance = add(clip(sub(unsqueeze(at, 1), at), -most, most), most) // [T, T]
    return transpose(gather(this.#weight.on(x.builder), cast(distance, 'int64')), [2, 0, 1])
  }
}

/** Options of TransformerLayer. */
export interface TransformerOptions {
  /** Columns of the operand and of the result. */
  readonly width: number
  /** @default 1 */
  readonly heads?: number | undefined
  /** Columns inside the feed-forward part. @default width */
  readonly inner?: number | undefined
  /** @default 'relu' */
  readonly activation?: Activation | undefined
  /** After the attention and after the feed-forward part. @default 0 */
  readonly dropout?: number | undefined
  /** Whether layers are normed `before` each part or `after` adding it. @default 'before' */
  readonly norm?: 'before' | 'after' | undefined
  /** @default false */
  readonly causal?: boolean | undefined
}

const TRANSFORMER: OptionNames<TransformerOptions> = {
  width: true,
  heads: true,
  inner: true,
  activation: true,
  dropout: true,
  norm: true,
  causal: true,
}

/** Attention and a feed-forward network, each added to what it was given: `attention`, `norm_0`, `ffn.0`, `ffn.1`, `norm_1`. */
export class TransformerLayer extends Layer {
  readonly #attention: SelfAttention
  readonly #feedForward: Mlp
  readonly #norms: readonly [LayerNorm, LayerNorm]
  readonly #dropouts: readonly [Dropout, Dropout]
  readonly #norm: 'before' | 'after'

  constructor({
    width,
    heads,
    inner = width,
    activation,
    dropout = 0,
    norm = 'before',
    causal,
    ...rest
  }: TransformerOptions) {
    super()
    refuseOptions('nn.TransformerLayer', rest, TRANSFORMER)
    this.#attention = this.addSublayer('attention', new SelfAttention({ in: width, heads, causal }))
    this.#feedForward = this.addSublayer('ffn', new Mlp({ in: width, sizes: [inner, width], activation }))
    const normed = (i: number) => this.addSublayer(`norm_${i}`, new LayerNorm({ width }))
    const dropped = (i: number) => this.addSublayer(`dropout_${i}`, new Dropout({ rate: dropout }))
    this.#norms = [normed(0), normed(1)]
    this.#dropouts = [dropped(0), dropped(1)]
    this.#norm = norm
  }

  /** [B, T, width] -> [B, T, width]. */
  forward(x: Tensor, masks: AttentionMasks = {}): Tensor {
    const attended = this.#around(0, x, (input) => this.#attention.forward(input, masks))
    return this.#around(1, attended, (input) => this.#feedForward.forward(input))
  }

  #around(i: 0 | 1, x: Tensor, part: (input: Tensor) => Tensor): Tensor {
    const [norm, dropout] = [this.#norms[i], this.#dropouts[i]]
    if (this.#norm === 'before') return add(x, dropout.forward(part(norm.forward(x))))
    return norm.forward(add(x, dropout.forward(part(x))))
  }
}

/** Options of AdditiveAttention. */
export interface AdditiveAttentionOptions {
  /** Columns of the operand. */
  readonly in: number
  /** Columns in which an element is judged. */
  readonly hidden: number
}

/** Adds up elements by the softmax of tanh(x W + b) query: layers `project` and `query`. */
export class AdditiveAttention extends Layer {
  readonly #project: Linear
  readonly #query: Linear

  constructor({ in: width, hidden, ...rest }: AdditiveAttentionOptions) {
    super()
    refuseOptions('nn.AdditiveAttention', rest, {
      in: true,
      hidden: true,
    } satisfies OptionNames<AdditiveAttentionOptions>)
    this.#project = this.addSublayer('project', new Linear({ in: width, out: hidden, activation: 'tanh' }))
    this.#query = this.addSublayer('query', new Linear({ in: hidden, out: 1, biasInit: false }))
  }

  /** x [B, T, in], mask [B, T] -> [B, in]; zeros where nothing is there. */
  forward(x: Tensor, mask?: Tensor): Tensor {
    const [batch, length, width] = x.shape
    const scores = reshape(this.#query.forward(this.#project.forward(x)), [batch!, 1, length!])
    const weights = mask ? maskedSoftmax(scores, unsqueeze(mask, 1)) : softmax(scores)
    return reshape(matmul(weights, x), [batch!, width!])
  }
}
