/** @file GRU4Rec: reads a session item by item and says after each which items may come next. */
import { type Initializer, nn, type Tensor } from 'oarfish'

export interface Gru4RecOptions {
  /** Items are numbered below this. */
  readonly items: number
  /** Columns of a row and of the state. */
  readonly units: number
  /** Items of a session that are read. */
  readonly length: number
  readonly init: Initializer
  readonly rates: { readonly gru: number; readonly fc: number }
}

export class Gru4Rec extends nn.Layer {
  readonly #embedding: nn.SequenceEmbedding
  readonly #gru: nn.Gru
  /** One score an item. */
  readonly scores: nn.ClassScores

  constructor({ items, units, length, init, rates }: Gru4RecOptions) {
    super()
    this.#embedding = this.addSublayer('emb', new nn.SequenceEmbedding({ dim: units, init, length }))
    this.#gru = this.addSublayer('gru', new nn.Gru({ in: units, units, init, learningRate: rates.gru }))
    this.scores = this.addSublayer(
      'fc',
      new nn.ClassScores({ in: units, classes: items, init, learningRate: rates.fc }),
    )
  }

  /** The state after each item [B, T, units], after the last one [B, units], and which items there are [B, T]. */
  forward(session: nn.SparseSlot): { readonly states: Tensor; readonly last: Tensor; readonly mask: Tensor } {
    const { x, mask } = this.#embedding.forward(session)
    const { outputs: states, last } = this.#gru.forward(x, mask)
    return { states, last, mask }
  }
}
