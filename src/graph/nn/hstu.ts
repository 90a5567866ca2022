/** @file The layer of HSTU: attention without a softmax, gated by the element itself. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  cast,
  div,
  greaterEqual,
  matmul,
  maximum,
  mul,
  reshape,
  sigmoid,
  split,
  sum,
  type Tensor,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import { RelativeBias } from './attention.ts'
import { Layer } from './layer.ts'
import { Dropout, LayerNorm, Linear } from './layers.ts'
import { positions } from './sequence.ts'

/** Options of HstuLayer. */
export interface HstuOptions {
  /** Columns of the operand and of the result. */
  readonly width: number
  /** @default 1 */
  readonly heads?: number | undefined
  /** Distances that have a bias of their own; farther elements count as this far. */
  readonly length: number
  /** @default 0 */
  readonly dropout?: number | undefined
}

const HSTU: OptionNames<HstuOptions> = { width: true, heads: true, length: true, dropout: true }

/**
 * x + out(norm(A v) * u), where u, v, q and k are silu of one linear layer over norm(x), and A is silu(q k' + a bias by distance) over those
 * that an element sees (itself and those before it), divided by how many they are: `norm`, `uvqk`, `bias`, `norm_out` and `out`.
 */
export class HstuLayer extends Layer {
  readonly #norms: readonly [LayerNorm, LayerNorm]
  readonly #parts: Linear
  readonly #bias: RelativeBias
  readonly #out: Linear
  readonly #dropout: Dropout
  readonly #heads: number
  readonly #width: number

  constructor({ width, heads = 1, length, dropout = 0, ...rest }: HstuOptions) {
    super()
    refuseOptions('nn.HstuLayer', rest, HSTU)
    this.#norms = [
      this.addSublayer('norm', new LayerNorm({ width })),
      this.addSublayer('norm_out', new LayerNorm({ width })),
    ]
    this.#parts = this.addSublayer('uvqk', new Linear({ in: width, out: 4 * width, biasInit: false }))
    this.#bias = this.addSublayer('bias', new RelativeBias({ length, heads }))
    this.#out = this.addSublayer('out', new Linear({ in: width, out: width }))
    this.#dropout = this.addSublayer('dropout', new Dropout({ rate: dropout }))
    this.#heads = heads
    this.#width = width
  }

  /** x [B, T, width], mask [B, T] (elements that are there) -> [B, T, width]. */
  forward(x: Tensor, mask: Tensor): Tensor {
    const [u, v, q, k] = split(silu(this.#parts.forward(this.#norms[0].forward(x))), 4, -1)
    const scores = add(matmul(this.#byHead(q!), transpose(this.#byHead(k!))), this.#bias.forward(x)) // [B, heads, T, T]
    const seen = visible(x, mask)
    const weights = div(mul(silu(scores), seen), maximum(sum(seen, 3, true), 1))
    const mixed = transpose(matmul(weights, this.#byHead(v!)), [0, 2, 1, 3])
    const joined = reshape(mixed, [...x.shape.slice(0, 2), this.#width])
    const gated = mul(this.#norms[1].forward(joined), u!)
    return add(x, this.#out.forward(this.#dropout.forward(gated)))
  }

  /** [B, T, width] -> [B, heads, T, width / heads]. */
  #byHead(x: Tensor): Tensor {
    const [batch, length] = x.shape
    return transpose(reshape(x, [batch!, length!, this.#heads, this.#width / this.#heads]), [0, 2, 1, 3])
  }
}

/** x times its sigmoid. */
export function silu(x: Tensor): Tensor {
  return mul(x, sigmoid(x))
}

/** 1 where an element (the last axis but one) sees another (the last): [B, 1, T, T]. */
function visible(x: Tensor, mask: Tensor): Tensor {
  const at = positions(x.builder, x.shape[1]!)
  const past = cast(greaterEqual(unsqueeze(at, 1), at), 'float32') // [T, T]
  return mul(reshape(mask, [mask.shape[0]!, 1, 1, mask.shape[1]!]), past)
}
