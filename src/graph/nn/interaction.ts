/** @file How vectors of fields act on each other: pairs and their products, CIN, squeeze-and-excite, bilinear forms, masks, factorized layers. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  concat,
  constant,
  gather,
  type Initializer,
  matmul,
  mean,
  mul,
  relu,
  reshape,
  split,
  sum,
  type Tensor,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import { Layer, type Variable } from './layer.ts'
import { LayerNorm, Linear, Mlp } from './layers.ts'
import { widthOf } from './shape.ts'

/** All pairs i < j of so many fields, in order. */
export function pairsOf(fields: number): readonly (readonly [number, number])[] {
  return Array.from({ length: fields }, (_, i) => i).flatMap((i) =>
    Array.from({ length: fields - i - 1 }, (_, k) => [i, i + 1 + k] as const),
  )
}

/** Columns or rows of axis 1 by number. */
function pick(x: Tensor, numbers: readonly number[]): Tensor {
  return gather(x, constant(x.builder, numbers, { shape: [numbers.length], dtype: 'int64' }), 1)
}

/** <v_i, v_j> of all pairs i < j: [B, fields, d] -> [B, pairs]. */
export function pairwiseDots(vectors: Tensor): Tensor {
  const fields = Number(vectors.shape[1])
  const products = reshape(matmul(vectors, transpose(vectors)), [-1, fields * fields])
  const places = pairsOf(fields).map(([i, j]) => i * fields + j)
  return pick(products, places)
}

/** Options of Cin. */
export interface CinOptions {
  /** Vectors of the operand. */
  readonly fields: number
  /** Vectors of each layer. */
  readonly sizes: readonly number[]
  /** @default Xavier uniform */
  readonly init?: Initializer | undefined
  /** L2 penalty on the weights. */
  readonly l2?: number | undefined
}

const CIN: OptionNames<CinOptions> = { fields: true, sizes: true, init: true, l2: true }

/**
 * The compressed interaction network: each vector of layer k is a weighted sum of the elementwise products of every vector of layer
 * k - 1 with every field. The weight of layer k is `<k>.weight` [fields * vectors before, vectors], the field being the slower index.
 */
export class Cin extends Layer {
  readonly #layers: readonly Linear[]

  constructor({ fields, sizes, init, l2, ...rest }: CinOptions) {
    super()
    refuseOptions('nn.Cin', rest, CIN)
    this.#layers = sizes.map((out, i) => {
      const options = { in: fields * (sizes[i - 1] ?? fields), out, init, l2, biasInit: false } as const
      return this.addSublayer(String(i), new Linear(options))
    })
  }

  /** [B, fields, d] -> the vectors of all layers, each summed over d: [B, sum of sizes]. */
  forward(vectors: Tensor): Tensor {
    const first = transpose(vectors) // [B, d, fields]
    let last = first
    const sums = this.#layers.map((layer) => {
      const products = mul(unsqueeze(first, 3), unsqueeze(last, 2)) // [B, d, fields, vectors]
      const width = widthOf(first, 'cin') * widthOf(last, 'cin')
      last = layer.forward(reshape(products, [...first.shape.slice(0, 2), width]))
      return sum(last, 1)
    })
    return concat(sums, 1)
  }
}

/** Options of SqueezeExcite. */
export interface SqueezeExciteOptions {
  readonly fields: number
  /** The inner layer has fields / reduction columns. @default 3 */
  readonly reduction?: number | undefined
}

/** A weight for each field from the means of all: relu(relu(means W_0 + b_0) W_1 + b_1), the layers `fc.0` and `fc.1`. */
export class SqueezeExcite extends Layer {
  readonly #layers: Mlp

  constructor({ fields, reduction = 3, ...rest }: SqueezeExciteOptions) {
    super()
    refuseOptions('nn.SqueezeExcite', rest, {
      fields: true,
      reduction: true,
    } satisfies OptionNames<SqueezeExciteOptions>)
    const sizes = [Math.max(1, Math.floor(fields / reduction)), fields]
    this.#layers = this.addSublayer('fc', new Mlp({ in: fields, sizes, lastActivation: 'relu' }))
  }

  /** [B, fields, d] -> the same, each vector scaled by its weight. */
  forward(vectors: Tensor): Tensor {
    return mul(vectors, unsqueeze(this.#layers.forward(mean(vectors, 2)), 2))
  }
}

/** Options of BilinearInteraction. */
export interface BilinearOptions {
  readonly fields: number
  /** Length of the vectors. */
  readonly dim: number
  /** `all`: one matrix; `each`: one a field, for its pairs with later ones; `interaction`: one a pair. @default 'interaction' */
  readonly kind?: BilinearKind | undefined
}

/** How many matrices there are. */
export type BilinearKind = 'all' | 'each' | 'interaction'

const BILINEAR: OptionNames<BilinearOptions> = { fields: true, dim: true, kind: true }
const MATRICES: Readonly<Record<BilinearKind, (fields: number) => number>> = {
  all: () => 1,
  each: (fields) => fields - 1,
  interaction: (fields) => (fields * (fields - 1)) / 2,
}

/** (v_i W) * v_j for all pairs i < j. `weight` is [matrices, dim, dim]. */
export class BilinearInteraction extends Layer {
  readonly #weight: Variable
  readonly #fields: number
  readonly #kind: BilinearKind

  constructor({ fields, dim, kind = 'interaction', ...rest }: BilinearOptions) {
    super()
    refuseOptions('nn.BilinearInteraction', rest, BILINEAR)
    const init = { kind: 'normal', mean: 0, std: Math.sqrt(1 / dim) } as const
    this.#weight = this.addParameter({ name: 'weight', shape: [MATRICES[kind](fields), dim, dim], init })
    this.#fields = fields
    this.#kind = kind
  }

  /** [B, fields, dim] -> [B, pairs, dim]. */
  forward(vectors: Tensor): Tensor {
    const pairs = pairsOf(this.#fields)
    const [left, right] = [pairs.map(([i]) => i), pairs.map(([, j]) => j)]
    return mul(this.#transformed(vectors, left), pick(vectors, right))
  }

  /** v_i W of each pair. */
  #transformed(vectors: Tensor, left: readonly number[]): Tensor {
    const [weight, dim] = [this.#weight.on(vectors.builder), widthOf(vectors, 'bilinear')]
    if (this.#kind === 'all') return pick(matmul(vectors, reshape(weight, [dim, dim])), left)
    const byField = transpose(vectors, [1, 0, 2]) // [fields, B, dim]: a batch of products, one a matrix
    const numbers = this.#kind === 'each' ? [...Array(this.#fields - 1).keys()] : left
    const rows = gather(byField, constant(vectors.builder, numbers, { shape: [numbers.length], dtype: 'int64' }))
    const products = transpose(matmul(rows, weight), [1, 0, 2]) // [B, matrices, dim]
    return this.#kind === 'each' ? pick(products, left) : products
  }
}

/** Options of MaskBlock. */
export interface MaskBlockOptions {
  /** Columns of the features that the mask is made from. */
  readonly features: number
  /** Columns of what is masked. */
  readonly in: number
  readonly out: number
  /** The mask's inner layer has `in` times this many columns. @default 1 */
  readonly reduction?: number | undefined
}

const MASK_BLOCK: OptionNames<MaskBlockOptions> = { features: true, in: true, out: true, reduction: true }

/** relu(norm((x * mask) W)), with the mask from the features by two layers: `mask.0`, `mask.1`, `hidden` (no bias) and `norm`. */
export class MaskBlock extends Layer {
  readonly #mask: Mlp
  readonly #hidden: Linear
  readonly #norm: LayerNorm

  constructor({ features, in: width, out, reduction = 1, ...rest }: MaskBlockOptions) {
    super()
    refuseOptions('nn.MaskBlock', rest, MASK_BLOCK)
    const sizes = [Math.max(1, Math.floor(width * reduction)), width]
    this.#mask = this.addSublayer('mask', new Mlp({ in: features, sizes }))
    this.#hidden = this.addSublayer('hidden', new Linear({ in: width, out, biasInit: false }))
    this.#norm = this.addSublayer('norm', new LayerNorm({ width: out }))
  }

  /** features [B, features], x [B, in] -> [B, out]. */
  forward(features: Tensor, x: Tensor): Tensor {
    return relu(this.#norm.forward(this.#hidden.forward(mul(x, this.#mask.forward(features)))))
  }
}

/** Options of FactorizedInteraction. */
export interface FactorizedOptions {
  readonly in: number
  readonly out: number
  /** How the linear half stays beside the products: `concat` (half of the columns each) or `sum`. @default 'concat' */
  readonly residual?: 'concat' | 'sum' | undefined
}

const FACTORIZED: OptionNames<FactorizedOptions> = { in: true, out: true, residual: true }

/** A linear layer (`linear`) whose halves a and b become a and a * b: products of all features at the price of a layer. */
export class FactorizedInteraction extends Layer {
  readonly #linear: Linear
  readonly #residual: 'concat' | 'sum'

  constructor({ in: width, out, residual = 'concat', ...rest }: FactorizedOptions) {
    super()
    refuseOptions('nn.FactorizedInteraction', rest, FACTORIZED)
    this.#linear = this.addSublayer('linear', new Linear({ in: width, out: residual === 'sum' ? 2 * out : out }))
    this.#residual = residual
  }

  /** [B, in] -> [B, out]. */
  forward(x: Tensor): Tensor {
    const [a, b] = split(this.#linear.forward(x), 2, -1)
    const products = mul(a!, b!)
    return this.#residual === 'sum' ? add(a!, products) : concat([a!, products], -1)
  }
}
