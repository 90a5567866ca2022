/** @file Several interests of a user from one history: dynamic routing of capsules, and the attention that picks among them. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  div,
  matmul,
  mul,
  pow,
  reshape,
  softmax,
  sqrt,
  square,
  stopGradient,
  sum,
  type Tensor,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import { Layer, type Variable } from './layer.ts'
import { Linear } from './layers.ts'

/** Options of CapsuleRouting. */
export interface CapsuleOptions {
  /** Columns of an element of the history. */
  readonly in: number
  /** Columns of an interest. */
  readonly out: number
  /** The padded length of the history. */
  readonly length: number
  readonly interests: number
  /** @default 3 */
  readonly rounds?: number | undefined
  /** Deviation of the first routing scores, which are drawn once and stay. @default 1 */
  readonly std?: number | undefined
}

const CAPSULES: OptionNames<CapsuleOptions> = {
  in: true,
  out: true,
  length: true,
  interests: true,
  rounds: true,
  std: true,
}

/**
 * Each element (times `map`) gives itself to the interests by a softmax over them; where it agrees with an interest, more of it goes
 * there in the next round. Only the last round learns. Interests end in a linear layer with ReLU (`out`); `routing` [interests, length]
 * are the first scores, which do not learn.
 */
export class CapsuleRouting extends Layer {
  readonly #map: Linear
  readonly #out: Linear
  readonly #routing: Variable
  readonly #rounds: number

  constructor({ in: width, out, length, interests, rounds = 3, std = 1, ...rest }: CapsuleOptions) {
    super()
    refuseOptions('nn.CapsuleRouting', rest, CAPSULES)
    const init = { kind: 'normal', mean: 0, std } as const
    this.#map = this.addSublayer('map', new Linear({ in: width, out, biasInit: false, init }))
    this.#routing = this.addParameter({ name: 'routing', shape: [interests, length], init })
    this.#out = this.addSublayer('out', new Linear({ in: out, out, activation: 'relu' }))
    this.#rounds = rounds
  }

  /** history [B, length, in], mask [B, length] -> [B, interests, out]. */
  forward(history: Tensor, mask: Tensor): Tensor {
    const elements = this.#map.forward(history) // [B, T, out]
    const fixed = stopGradient(elements)
    const gathered = (scores: Tensor, from: Tensor) => squash(matmul(mul(softmax(scores, 1), unsqueeze(mask, 1)), from)) // [B, interests, out]
    let scores = add(stopGradient(this.#routing.on(history.builder)), mul(unsqueeze(mask, 1), 0)) // [B, interests, T]
    for (let round = 1; round < this.#rounds; round++)
      scores = add(scores, matmul(gathered(scores, fixed), transpose(fixed)))
    return this.#out.forward(gathered(scores, elements))
  }
}

/** z |z|^2 / (1 + |z|^2) / |z| along the last axis: the same direction, a length below 1. */
export function squash(z: Tensor): Tensor {
  const length2 = sum(square(z), -1, true)
  return mul(z, div(length2, mul(add(length2, 1), sqrt(add(length2, 1e-8)))))
}

/** softmax((interests . target) ^ power) over the interests [B, K, d], which it adds up: [B, d]. A large power takes the nearest alone. */
export function labelAwareAttention(interests: Tensor, target: Tensor, { power = 1 }: { power?: number } = {}): Tensor {
  const [batch, count, width] = interests.shape
  const products = reshape(matmul(interests, unsqueeze(target, 2)), [batch!, count!]) // [B, K]
  const weights = softmax(power === 1 ? products : pow(products, power))
  return reshape(matmul(unsqueeze(weights, 1), interests), [-1, width!])
}
