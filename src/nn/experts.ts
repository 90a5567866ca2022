/** @file Experts shared by several tasks, mixed for each task by a gate of its own (multi-gate mixture of experts). */
import { matmul, reshape, softmax, stack, type Tensor, unsqueeze } from '../program/index.ts'
import { Layer } from './layer.ts'
import { Linear } from './layers.ts'

export interface GatedExpertsOptions {
  /** Columns of the operand. */
  readonly in: number
  readonly experts: number
  /** Columns of each expert's result. */
  readonly expertSize: number
  /** Tasks: one gate each. */
  readonly gates: number
}

/** Experts `expert_<i>` (linear and ReLU) and gates `gate_<i>` (linear, then softmax over the experts). */
export class GatedExperts extends Layer {
  readonly #experts: readonly Linear[]
  readonly #gates: readonly Linear[]

  constructor({ in: width, experts, expertSize, gates }: GatedExpertsOptions) {
    super()
    const each = (count: number, name: string, make: () => Linear) =>
      Array.from({ length: count }, (_, i) => this.addSublayer(`${name}_${i}`, make()))
    this.#experts = each(experts, 'expert', () => new Linear({ in: width, out: expertSize, activation: 'relu' }))
    this.#gates = each(gates, 'gate', () => new Linear({ in: width, out: experts }))
  }

  /** For each gate, the experts' results weighted by it: [B, in] -> gates times [B, expertSize]. */
  forward(x: Tensor): readonly Tensor[] {
    const results = stack(
      this.#experts.map((expert) => expert.forward(x)),
      1,
    ) // [B, experts, size]
    return this.#gates.map((gate) => mixExperts(gate.forward(x), results))
  }
}

/** softmax over the scores [B, experts] times results [B, experts, d]: [B, d]. */
export function mixExperts(scores: Tensor, results: Tensor): Tensor {
  const mixed = matmul(unsqueeze(softmax(scores, 1), 1), results) // [B, 1, d]
  return reshape(mixed, [-1, results.shape[2]!])
}
