/** @file DIN: what a user did before, weighed by how much it has to do with the item at hand. */
import { add, concat, nn, type Tensor } from 'oarfish'

export interface DinOptions {
  readonly itemDim: number
  readonly categoryDim: number
  /** Hidden layers, both of the attention and of the network on top. */
  readonly layerSizes: readonly number[]
  readonly activation: nn.Activation
}

/** Items with their categories: one candidate, and the history in order. */
export interface DinInputs {
  readonly historyItems: nn.SparseSlot
  readonly historyCategories: nn.SparseSlot
  readonly item: nn.SparseSlot
  readonly category: nn.SparseSlot
}

/** The name under which both histories are padded to one length. */
const HISTORY = 'T_history'

export class Din extends nn.Layer {
  readonly #item: nn.Embedding
  readonly #category: nn.Embedding
  readonly #historyItems: nn.SequenceEmbedding
  readonly #historyCategories: nn.SequenceEmbedding
  readonly #itemBias: nn.Embedding
  readonly #attention: nn.AttentionUnit
  readonly #interest: nn.Linear
  readonly #fc: nn.Mlp

  constructor({ itemDim, categoryDim, layerSizes: sizes, activation }: DinOptions) {
    super()
    const items = { table: 'item_emb', dim: itemDim }
    const categories = { table: 'cat_emb', dim: categoryDim }
    const width = itemDim + categoryDim
    this.#item = this.addSublayer('target_item', new nn.Embedding(items))
    this.#category = this.addSublayer('target_cat', new nn.Embedding(categories))
    this.#historyItems = this.addSublayer('hist_item', new nn.SequenceEmbedding({ ...items, length: HISTORY }))
    this.#historyCategories = this.addSublayer('hist_cat', new nn.SequenceEmbedding({ ...categories, length: HISTORY }))
    this.#itemBias = this.addSublayer('item_b', new nn.Embedding({ dim: 1, init: { kind: 'constant', value: 0 } }))
    this.#attention = this.addSublayer('attention', new nn.AttentionUnit({ width, sizes, activation }))
    this.#interest = this.addSublayer('interest', new nn.Linear({ in: width, out: width }))
    this.#fc = this.addSublayer('fc', new nn.Mlp({ in: 2 * width, sizes: [...sizes, 1], activation }))
  }

  /** Logits [B, 1]. */
  forward({ historyItems, historyCategories, item, category }: DinInputs): Tensor {
    const { x: items, mask } = this.#historyItems.forward(historyItems)
    const history = concat([items, this.#historyCategories.forward(historyCategories).x], 2) // [B, T, width]
    const target = concat([this.#item.forward(item), this.#category.forward(category)], 1) // [B, width]
    const interest = this.#interest.forward(this.#attention.forward(target, history, mask))
    return add(this.#fc.forward(concat([interest, target], 1)), this.#itemBias.forward(item))
  }
}
