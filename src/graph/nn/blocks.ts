/** @file Blocks of known models: the attention of deep interest networks, experts shared by several tasks, two towers. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  concat,
  expand,
  type Initializer,
  maskedSoftmax,
  matmul,
  mul,
  reshape,
  softmax,
  stack,
  sub,
  type Tensor,
  unsqueeze,
} from '../program/index.ts'
import type { Activation } from './activation.ts'
import { Layer } from './layer.ts'
import { Linear, Mlp } from './layers.ts'
import { cosineSimilarity } from './normalization.ts'

/** Options of AttentionUnit. */
export interface AttentionUnitOptions {
  /** Columns of the query and of the keys. */
  readonly width: number
  /** Hidden layers of the network that scores an element. @default [80, 40] */
  readonly sizes?: readonly number[] | undefined
  /** @default 'sigmoid' */
  readonly activation?: Activation | undefined
}

const ATTENTION_UNIT: OptionNames<AttentionUnitOptions> = { width: true, sizes: true, activation: true }

/**
 * Scores every element k beside the query q by a small network (`fc`) over k, q, k - q and k * q, and adds up the elements
 * by the softmax of the scores, divided by sqrt(width); masked elements count nothing.
 */
export class AttentionUnit extends Layer {
  readonly #scorer: Mlp
  readonly #width: number

  constructor({ width, sizes = [80, 40], activation = 'sigmoid', ...rest }: AttentionUnitOptions) {
    super()
    refuseOptions('nn.AttentionUnit', rest, ATTENTION_UNIT)
    this.#width = width
    this.#scorer = this.addSublayer('fc', new Mlp({ in: 4 * width, sizes: [...sizes, 1], activation }))
  }

  /** query [B, d], keys [B, T, d], mask [B, T] -> [B, d]; zeros where nothing counts. */
  forward(query: Tensor, keys: Tensor, mask: Tensor): Tensor {
    return reshape(matmul(unsqueeze(this.weights(query, keys, mask), 1), keys), [-1, this.#width])
  }

  /** How much each element counts [B, T]: 1 together, 0 where masked. */
  weights(query: Tensor, keys: Tensor, mask: Tensor): Tensor {
    const scores = this.scores(expand(unsqueeze(query, 1), keys.shape), keys)
    return maskedSoftmax(mul(scores, 1 / Math.sqrt(this.#width)), mask)
  }

  /** What the network says of each element beside a query of its own: queries and keys [B, T, d] -> [B, T]. */
  scores(queries: Tensor, keys: Tensor): Tensor {
    const pairs = concat([keys, queries, sub(keys, queries), mul(keys, queries)], 2)
    return reshape(this.#scorer.forward(pairs), keys.shape.slice(0, 2))
  }
}

/** Options of GatedExperts. */
export interface GatedExpertsOptions {
  /** Columns of the operand. */
  readonly in: number
  readonly experts: number
  /** Columns of each expert's result. */
  readonly expertSize: number
  /** Tasks: one gate each. */
  readonly gates: number
}

const GATED_EXPERTS: OptionNames<GatedExpertsOptions> = { in: true, experts: true, expertSize: true, gates: true }

/** Experts `expert_<i>` (linear and ReLU) and gates `gate_<i>` (linear, then softmax over the experts). */
export class GatedExperts extends Layer {
  readonly #experts: readonly Linear[]
  readonly #gates: readonly Linear[]

  constructor({ in: width, experts, expertSize, gates, ...rest }: GatedExpertsOptions) {
    super()
    refuseOptions('nn.GatedExperts', rest, GATED_EXPERTS)
    const each = (count: number, name: string, make: () => Linear) =>
      Array.from({ length: count }, (_, i) => this.addSublayer(`${name}_${i}`, make()))
    this.#experts = each(experts, 'expert', () => new Linear({ in: width, out: expertSize, activation: 'relu' }))
    this.#gates = each(gates, 'gate', () => new Linear({ in: width, out: experts }))
  }

  /** For each gate, the experts' results weighted by it: [B, in] -> gates times [B, expertSize]. */
  forward(x: Tensor): readonly Tensor[] {
    const each = this.#experts.map((expert) => expert.forward(x))
    const results = stack(each, 1) // [B, experts, size]
    return this.#gates.map((gate) => mixExperts(gate.forward(x), results))
  }
}

/** softmax over the scores [B, experts] times results [B, experts, d]: [B, d]. */
export function mixExperts(scores: Tensor, results: Tensor): Tensor {
  const mixed = matmul(unsqueeze(softmax(scores, 1), 1), results) // [B, 1, d]
  return reshape(mixed, [-1, results.shape[2]!])
}

/** Options of Tower and TwoTowers. */
export interface TowerOptions {
  /** Columns of the operand. */
  readonly in: number
  /** Columns of each layer. */
  readonly sizes: readonly number[]
  /** After each layer; `undefined` for none. */
  readonly activations: readonly (Activation | undefined)[]
  /** @default Xavier uniform */
  readonly init?: Initializer | undefined
}

const TOWER: OptionNames<TowerOptions> = { in: true, sizes: true, activations: true, init: true }

/** Linear layers named `0`, `1`, ..., each with an activation of its own. */
export class Tower extends Layer {
  readonly #layers: readonly Linear[]

  constructor({ in: width, sizes, activations, init, ...rest }: TowerOptions) {
    super()
    refuseOptions('nn.Tower', rest, TOWER)
    this.#layers = sizes.map((out, i) => {
      const layer = new Linear({ in: sizes[i - 1] ?? width, out, activation: activations[i], init })
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

  constructor({ query, doc, ...rest }: { readonly query: TowerOptions; readonly doc: TowerOptions }) {
    super()
    refuseOptions('nn.TwoTowers', rest, { query: true, doc: true })
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
