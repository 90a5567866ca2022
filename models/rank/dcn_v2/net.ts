/** @file DCN-V2: explicit interactions of bounded degree by a cross network, beside or below a deep one. */
import { concat, nn, relu, type Tensor } from 'oarfish'

export interface DcnV2Options {
  /** Sparse slots. */
  readonly slots: number
  readonly denseWidth: number
  readonly embeddingDim: number
  readonly layerSizes: readonly number[]
  readonly crossLayers: number
  /** The deep network on top of the cross network, rather than both side by side. */
  readonly stacked: boolean
  /** Low-rank experts instead of one whole matrix a layer. */
  readonly mixture?: { readonly lowRank: number; readonly experts: number } | undefined
  readonly dropoutRate: number
  readonly batchNorm: boolean
  /** L2 penalty on the cross network's weights. */
  readonly crossL2: number
}

const DEEP_L2 = 1e-7

export class DcnV2 extends nn.Layer {
  readonly #embedding: nn.Embedding
  readonly #denseEmbedding: nn.Linear
  readonly #cross: nn.CrossNet | nn.CrossNetMix
  readonly #deep: Deep
  readonly #out: nn.Linear
  readonly #stacked: boolean

  constructor({ slots, denseWidth, embeddingDim: dim, mixture, stacked, ...options }: DcnV2Options) {
    super()
    const init = { kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) } as const
    const width = (slots + denseWidth) * dim
    const cross = { width, layers: options.crossLayers, l2: options.crossL2 }
    this.#stacked = stacked
    this.#embedding = this.addSublayer('embedding', new nn.Embedding({ dim, init }))
    this.#denseEmbedding = this.addSublayer('dense_emb', new nn.Linear({ in: denseWidth, out: denseWidth * dim }))
    this.#cross = this.addSublayer(
      'cross',
      mixture ? new nn.CrossNetMix({ ...cross, ...mixture }) : new nn.CrossNet(cross),
    )
    this.#deep = this.addSublayer('dnn', new Deep(width, options))
    const last = options.layerSizes.at(-1)!
    this.#out = this.addSublayer(
      'fc',
      new nn.Linear({ in: stacked ? last : last + width, out: 1, init: { kind: 'lecun_normal' } }),
    )
  }

  /** Logits [B, 1]. */
  forward(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
    const x = concat([this.#embedding.forward(slots), this.#denseEmbedding.forward(dense)], 1)
    const crossed = this.#cross.forward(x)
    if (this.#stacked) return this.#out.forward(this.#deep.forward(crossed))
    return this.#out.forward(concat([this.#deep.forward(x), crossed], 1))
  }
}

/** Linear layers with ReLU and dropout after each, and batch norm before the ReLU where it is wanted. */
class Deep extends nn.Layer {
  readonly #layers: readonly { linear: nn.Linear; norm: nn.BatchNorm | undefined; dropout: nn.Dropout }[]

  constructor(width: number, options: Pick<DcnV2Options, 'layerSizes' | 'dropoutRate' | 'batchNorm'>) {
    super()
    const { layerSizes, dropoutRate: rate, batchNorm } = options
    this.#layers = layerSizes.map((out, i) => {
      const init = { kind: 'lecun_normal' } as const
      const linear = new nn.Linear({ in: layerSizes[i - 1] ?? width, out, init, l2: DEEP_L2 })
      return {
        linear: this.addSublayer(String(i), linear),
        norm: batchNorm ? this.addSublayer(`norm_${i}`, new nn.BatchNorm({ width: out })) : undefined,
        dropout: this.addSublayer(`dropout_${i}`, new nn.Dropout({ rate })),
      }
    })
  }

  forward(x: Tensor): Tensor {
    return this.#layers.reduce((input, { linear, norm, dropout }) => {
      const y = linear.forward(input)
      return dropout.forward(relu(norm ? norm.forward(y) : y))
    }, x)
  }
}
