/** @file word2vec, skip-gram: a word's vector says which words stand near it, told apart from words drawn at random. */
import { add, matmul, mul, nn, reshape, sum, type Tensor, transpose, unsqueeze } from 'oarfish'

export interface Word2VecOptions {
  readonly dim: number
  /** Words drawn for each true one. */
  readonly negatives: number
}

/** A word and one near it; `negative` holds the drawn words, unless they are taken from the batch. */
export interface Word2VecInputs {
  readonly word: nn.SparseSlot
  readonly near: nn.SparseSlot
  readonly negative?: nn.SparseSlot | undefined
}

export class Word2Vec extends nn.Layer {
  readonly #negatives: number
  readonly #vectors: nn.Embedding
  readonly #near: { readonly weight: nn.Embedding; readonly bias: nn.Embedding }
  readonly #negative: { readonly weight: nn.SequenceEmbedding; readonly bias: nn.SequenceEmbedding }

  constructor({ dim, negatives: length }: Word2VecOptions) {
    super()
    const width = 0.5 / dim
    const zeros = { kind: 'constant', value: 0 } as const
    const [weight, bias] = [
      { table: 'emb_w', dim, init: zeros },
      { table: 'emb_b', dim: 1, init: zeros },
    ] as const
    this.#negatives = length
    this.#vectors = this.addSublayer(
      'emb',
      new nn.Embedding({ dim, init: { kind: 'uniform', low: -width, high: width } }),
    )
    this.#near = {
      weight: this.addSublayer('true_w', new nn.Embedding(weight)),
      bias: this.addSublayer('true_b', new nn.Embedding(bias)),
    }
    this.#negative = {
      weight: this.addSublayer('neg_w', new nn.SequenceEmbedding({ ...weight, length })),
      bias: this.addSublayer('neg_b', new nn.SequenceEmbedding({ ...bias, length })),
    }
  }

  /** The word's vector [B, dim], and the logits of the near word [B, 1] and of the drawn ones [B, negatives]. */
  forward({ word, near, negative }: Word2VecInputs): {
    readonly vector: Tensor
    readonly positives: Tensor
    readonly negatives: Tensor
  } {
    const vector = this.#vectors.forward(word)
    const [weight, bias] = [this.#near.weight.forward(near), this.#near.bias.forward(near)]
    const drawn = negative
      ? { weight: this.#negative.weight.forward(negative).x, bias: this.#negative.bias.forward(negative).x }
      : this.#fromBatch(weight, bias)
    const products = matmul(unsqueeze(vector, 1), transpose(drawn.weight)) // [B, 1, negatives]
    const flat = (x: Tensor) => reshape(x, [-1, this.#negatives])
    return {
      vector,
      positives: add(sum(mul(vector, weight), 1, true), bias),
      negatives: add(flat(products), flat(drawn.bias)),
    }
  }

  /** Near words of other samples, which are drawn as often as they are near. */
  #fromBatch(weight: Tensor, bias: Tensor): { readonly weight: Tensor; readonly bias: Tensor } {
    const positions = nn.drawFromBatch(weight, { name: 'negatives', samples: this.#negatives })
    return { weight: nn.takeFromBatch(weight, positions), bias: nn.takeFromBatch(bias, positions) }
  }
}
