/** @file Two towers: queries and documents (users and items) become vectors of one space, compared by their angle. */
import type { Initializer, Tensor } from '../program/index.ts'
import type { Activation } from './activation.ts'
import { Layer } from './layer.ts'
import { Linear } from './layers.ts'
import { cosineSimilarity } from './normalization.ts'

export interface TowerOptions {
  /** Columns of the operand. */
  readonly in: number
  /** Columns of each layer. */
  readonly sizes: readonly number[]
  /** After each layer; `undefined` for none. */
  readonly activations: readonly (Activation | undefined)[]
  /** @default Xavier uniform */
  readonly init?: Initializer
}

/** Linear layers named `0`, `1`, ..., each with an activation of its own. */
export class Tower extends Layer {
  readonly #layers: readonly Linear[]

  constructor({ in: width, sizes, activations, init }: TowerOptions) {
    super()
    this.#layers = sizes.map((out, i) => {
      const activation = activations[i]
      const layer = new Linear({
        ...{ in: sizes[i - 1] ?? width, out },
        ...(activation && { activation }),
        ...(init && { init }),
      })
      return this.addSublayer(String(i), layer)
    })
  }

  forward(x: Tensor): Tensor {
    return this.#layers.reduce((input, layer) => layer.forward(input), x)
  }
}

/** The towers `query` and `doc`; all documents go through one and the same. */
export class TwoTowers extends Layer {
  readonly #query: Tower
  readonly #doc: Tower

  constructor({ query, doc }: { readonly query: TowerOptions; readonly doc: TowerOptions }) {
    super()
    this.#query = this.addSublayer('query', new Tower(query))
    this.#doc = this.addSublayer('doc', new Tower(doc))
  }

  /** The vector of a query, the vectors of its documents, and the cosine [B, 1] between it and each. */
  forward(
    query: Tensor,
    docs: readonly Tensor[],
  ): { readonly query: Tensor; readonly docs: readonly Tensor[]; readonly cosines: readonly Tensor[] } {
    const own = this.#query.forward(query)
    const others = docs.map((doc) => this.#doc.forward(doc))
    return { query: own, docs: others, cosines: others.map((other) => cosineSimilarity(own, other)) }
  }
}
