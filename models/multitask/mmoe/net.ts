/** @file MMoE: experts that all tasks share, a gate of its own for each task, and a tower on what the gate lets through. */
import { nn, type Tensor } from 'oarfish'

export interface MmoeOptions {
  readonly featureSize: number
  readonly experts: number
  readonly expertSize: number
  readonly towerSize: number
  /** Tasks. */
  readonly gates: number
}

export class Mmoe extends nn.Layer {
  readonly #experts: nn.GatedExperts
  readonly #towers: readonly nn.Mlp[]

  constructor({ featureSize, experts, expertSize, towerSize, gates }: MmoeOptions) {
    super()
    this.#experts = this.addSublayer('experts', new nn.GatedExperts({ in: featureSize, experts, expertSize, gates }))
    this.#towers = Array.from({ length: gates }, (_, i) =>
      this.addSublayer(`tower_${i}`, new nn.Mlp({ in: expertSize, sizes: [towerSize, 2] })),
    )
  }

  /** Logits [B, 2] of each task. */
  forward(x: Tensor): readonly Tensor[] {
    const mixed = this.#experts.forward(x)
    return this.#towers.map((tower, i) => tower.forward(mixed[i]!))
  }
}
