/** @file Sessions as graphs: which item came after which, and gated steps along these edges, as SR-GNN has them. */
import { refuseOptions } from '../../base/util/index.ts'
import {
  clip,
  concat,
  div,
  matmul,
  maximum,
  mul,
  oneHot,
  slice,
  sum,
  type Tensor,
  transpose,
  unsqueeze,
} from '../program/index.ts'
import { Layer, type Variable } from './layer.ts'
import { Linear } from './layers.ts'
import { affine } from './linear.ts'
import { gruCell, type RecurrentWeights, recurrentWeights } from './recurrent.ts'

/** Edges of a graph, the share of each among those of its node. */
export interface SessionEdges {
  /** [B, N, N]: from the nodes that came before. */
  readonly incoming: Tensor
  /** [B, N, N]: to the nodes that came after. */
  readonly outgoing: Tensor
}

/**
 * The graph of each session: node i leads to node j where j came right after i, once or more often. `nodes` [B, T] is the node of each
 * element, an integer below `count`; mask [B, T] says which elements are there.
 */
export function sessionEdges(nodes: Tensor, mask: Tensor, { count }: { readonly count: number }): SessionEdges {
  const of = mul(oneHot(unsqueeze(nodes, 2), count), unsqueeze(mask, 2)) // [B, T, N]
  const follows = clip(matmul(transpose(slice(of, 1, 0, -1)), slice(of, 1, 1)), 0, 1) // [B, N, N]
  const share = (axis: number) => div(follows, maximum(sum(follows, axis, true), 1))
  return { incoming: transpose(share(1)), outgoing: share(2) }
}

/** A GRU's step of every node, whose input is what its neighbours say: `in` and `out` (linear), and the weights of a GRU. */
export class GatedGraph extends Layer {
  readonly #before: Linear
  readonly #after: Linear
  readonly #weights: RecurrentWeights<Variable>

  constructor({ width, ...rest }: { readonly width: number }) {
    super()
    refuseOptions('nn.GatedGraph', rest, { width: true })
    this.#before = this.addSublayer('in', new Linear({ in: width, out: width }))
    this.#after = this.addSublayer('out', new Linear({ in: width, out: width }))
    this.#weights = recurrentWeights(2 * width, width, 3, (spec) => this.addParameter(spec))
  }

  /** nodes [B, N, width] -> [B, N, width]. */
  forward(nodes: Tensor, { incoming, outgoing }: SessionEdges): Tensor {
    const { builder } = nodes
    const { inputWeight, stateWeight, inputBias, stateBias } = this.#weights
    const before = matmul(incoming, this.#before.forward(nodes))
    const after = matmul(outgoing, this.#after.forward(nodes))
    const input = affine(concat([before, after], 2), inputWeight.on(builder), inputBias.on(builder))
    const state = affine(nodes, stateWeight.on(builder), stateBias.on(builder))
    return gruCell(input, state, nodes)
  }
}
