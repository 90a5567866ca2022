/** @file Products of features: the second order of factorization machines, and the cross networks of DCN and DCN-V2. */
import { type OptionNames, refuseOptions, unknownOf } from '../../base/util/index.ts'
import {
  add,
  matmul,
  mul,
  reshape,
  slice,
  square,
  stack,
  sub,
  sum,
  type Tensor,
  tanh,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import { mixExperts } from './blocks.ts'
import { Layer, type Variable } from './layer.ts'
import { Linear } from './layers.ts'

/** The sum of <v_i, v_j> over all pairs i < j, as half of (sum v)^2 - sum v^2: [B, features, dim] -> [B, 1]. */
export function pairwiseSum(vectors: Tensor): Tensor {
  const difference = sub(square(sum(vectors, 1)), sum(square(vectors), 1)) // [B, dim]
  return mul(sum(difference, 1, true), 0.5)
}

/** Options of CrossNet. */
export interface CrossNetOptions {
  /** Columns of the operand, and of the result. */
  readonly width: number
  readonly layers: number
  /** L2 penalty on the weights. */
  readonly l2?: number | undefined
}

const CROSS_NET: OptionNames<CrossNetOptions> = { width: true, layers: true, l2: true }

/** x_{l+1} = x_0 * (x_l W_l + b_l) + x_l: each layer adds a degree of interaction. Layers are named `0`, `1`, ... */
export class CrossNet extends Layer {
  readonly #layers: readonly Linear[]

  constructor({ width, layers, l2, ...rest }: CrossNetOptions) {
    super()
    refuseOptions('nn.CrossNet', rest, CROSS_NET)
    this.#layers = Array.from({ length: layers }, (_, i) =>
      this.addSublayer(String(i), new Linear({ in: width, out: width, l2 })),
    )
  }

  /** [B, width] -> [B, width]. */
  forward(x: Tensor): Tensor {
    return this.#layers.reduce((previous, layer) => add(mul(x, layer.forward(previous)), previous), x)
  }
}

/**
 * The first form: x_{l+1} = x_0 (x_l . w_l) + b_l + x_l, a vector a layer instead of a matrix. Of layer l the parameters are
 * `<l>.weight` [width, 1] and `<l>.bias` [width].
 */
export class CrossNetVector extends Layer {
  readonly #layers: readonly { readonly weight: Variable; readonly bias: Variable }[]

  constructor({ width, layers, l2, ...rest }: CrossNetOptions) {
    super()
    refuseOptions('nn.CrossNetVector', rest, CROSS_NET)
    this.#layers = Array.from({ length: layers }, (_, i) => ({
      weight: this.addParameter({ name: `${i}.weight`, shape: [width, 1], init: { kind: 'xavier_uniform' }, l2 }),
      bias: this.addParameter({ name: `${i}.bias`, shape: [width], init: { kind: 'zeros' } }),
    }))
  }

  /** [B, width] -> [B, width]. */
  forward(x: Tensor): Tensor {
    return this.#layers.reduce((previous, { weight, bias }) => {
      const scale = matmul(previous, weight.on(x.builder)) // [B, 1]
      return add(add(mul(x, scale), bias.on(x.builder)), previous)
    }, x)
  }
}

/** Options of CrossNetMix. */
export interface CrossNetMixOptions extends CrossNetOptions {
  /** Columns of the space each expert works in. */
  readonly lowRank: number
  readonly experts: number
}

const CROSS_NET_MIX: OptionNames<CrossNetMixOptions> = { ...CROSS_NET, lowRank: true, experts: true }

/**
 * The low-rank mixture: x_{l+1} = sum_i g_i(x_l) x_0 * (U_i tanh(C_i tanh(V_i' x_l)) + b) + x_l. Of layer l the parameters are
 * `<l>.u` and `<l>.v` [experts, width, rank], `<l>.c` [experts, rank, rank] and `<l>.bias` [width]; `gate` serves all layers.
 */
export class CrossNetMix extends Layer {
  readonly #layers: readonly LowRankCross[]
  readonly #gate: Linear

  constructor({ layers, ...options }: CrossNetMixOptions) {
    super()
    refuseOptions('nn.CrossNetMix', unknownOf(options, CROSS_NET_MIX), CROSS_NET_MIX)
    this.#layers = Array.from({ length: layers }, (_, i) => this.addSublayer(String(i), new LowRankCross(options)))
    this.#gate = this.addSublayer('gate', new Linear({ in: options.width, out: options.experts }))
  }

  /** [B, width] -> [B, width]. */
  forward(x: Tensor): Tensor {
    return this.#layers.reduce((previous, layer) => {
      const crossed = mixExperts(this.#gate.forward(previous), layer.forward(x, previous))
      return add(crossed, previous)
    }, x)
  }
}

/** One layer of all experts: [B, experts, width] before they are mixed. */
class LowRankCross extends Layer {
  readonly #experts: number
  readonly #u: Variable
  readonly #v: Variable
  readonly #c: Variable
  readonly #bias: Variable

  constructor({ width, lowRank, experts, l2 }: Omit<CrossNetMixOptions, 'layers'>) {
    super()
    this.#experts = experts
    const parameter = (name: string, rows: number, columns: number) => {
      // The deviation of Xavier's normal distribution for one expert's matrix.
      const init = { kind: 'normal', mean: 0, std: Math.sqrt(2 / (rows + columns)) } as const
      return this.addParameter({ name, shape: [experts, rows, columns], init, l2 })
    }
    this.#u = parameter('u', width, lowRank)
    this.#v = parameter('v', width, lowRank)
    this.#c = parameter('c', lowRank, lowRank)
    this.#bias = this.addParameter({ name: 'bias', shape: [width], init: { kind: 'zeros' } })
  }

  forward(first: Tensor, x: Tensor): Tensor {
    const { builder } = x
    const [u, v, c] = [this.#u, this.#v, this.#c].map((variable) => variable.on(builder))
    const experts = Array.from({ length: this.#experts }, (_, i) => {
      const inner = tanh(matmul(x, expertOf(v!, i))) // [B, rank]
      const mixed = tanh(matmul(inner, transpose(expertOf(c!, i))))
      return matmul(mixed, transpose(expertOf(u!, i))) // [B, width]
    })
    return mul(unsqueeze(first, 1), add(stack(experts, 1), this.#bias.on(builder)))
  }
}

/** Matrix i of [experts, rows, columns]. */
function expertOf(matrices: Tensor, i: number): Tensor {
  const [, rows, columns] = matrices.shape
  return reshape(slice(matrices, 0, i, i + 1), [rows!, columns!])
}
