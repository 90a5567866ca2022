/** @file Experts of tasks beside shared ones, level by level, and gates that scale what a layer gives. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import { mul, stack, type Tensor } from '../program/index.ts'
import { mixExperts } from './blocks.ts'
import { Layer } from './layer.ts'
import { Linear, Mlp } from './layers.ts'

/** Options of ProgressiveExperts. */
export interface ProgressiveExpertsOptions {
  /** Columns of each operand. */
  readonly in: number
  readonly tasks: number
  /** Experts of each task. */
  readonly taskExperts: number
  readonly sharedExperts: number
  /** Columns of each expert's result. */
  readonly expertSize: number
  /** The last level has no gate of its own for what is shared. @default false */
  readonly last?: boolean | undefined
}

const PROGRESSIVE: OptionNames<ProgressiveExpertsOptions> = {
  in: true,
  tasks: true,
  taskExperts: true,
  sharedExperts: true,
  expertSize: true,
  last: true,
}

/**
 * One level of progressive layered extraction. Experts `expert_<task>_<i>` and `shared_<i>` (linear and ReLU), gates `gate_<task>` over
 * the task's experts and the shared ones, and, but on the last level, `gate_shared` over all.
 */
export class ProgressiveExperts extends Layer {
  readonly #own: readonly (readonly Linear[])[]
  readonly #shared: readonly Linear[]
  readonly #gates: readonly Linear[]
  readonly #sharedGate: Linear | undefined

  constructor(options: ProgressiveExpertsOptions) {
    super()
    const { in: width, tasks, taskExperts, sharedExperts, expertSize, last = false, ...rest } = options
    refuseOptions('nn.ProgressiveExperts', rest, PROGRESSIVE)
    const expert = (name: string) =>
      this.addSublayer(name, new Linear({ in: width, out: expertSize, activation: 'relu' }))
    const gate = (name: string, out: number) => this.addSublayer(name, new Linear({ in: width, out }))
    const each = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i))
    this.#own = each(tasks, (task) => each(taskExperts, (i) => expert(`expert_${task}_${i}`)))
    this.#shared = each(sharedExperts, (i) => expert(`shared_${i}`))
    this.#gates = each(tasks, (task) => gate(`gate_${task}`, taskExperts + sharedExperts))
    this.#sharedGate = last ? undefined : gate('gate_shared', tasks * taskExperts + sharedExperts)
  }

  /** One operand a task and the shared one last -> the same, without the shared one on the last level. */
  forward(inputs: readonly Tensor[]): readonly Tensor[] {
    const common = inputs.at(-1)!
    const shared = this.#shared.map((expert) => expert.forward(common))
    const own = this.#own.map((experts, task) => experts.map((expert) => expert.forward(inputs[task]!)))
    const mixed = this.#gates.map((gate, task) =>
      mixExperts(gate.forward(inputs[task]!), stack([...own[task]!, ...shared], 1)),
    )
    if (!this.#sharedGate) return mixed
    return [...mixed, mixExperts(this.#sharedGate.forward(common), stack([...own.flat(), ...shared], 1))]
  }
}

/** Options of GateUnit. */
export interface GateUnitOptions {
  readonly in: number
  readonly out: number
  /** Columns of the layer between. @default out */
  readonly hidden?: number | undefined
}

/** 2 sigmoid(relu(x W_0 + b_0) W_1 + b_1), the layers `fc.0` and `fc.1`: factors between 0 and 2. */
export class GateUnit extends Layer {
  readonly #layers: Mlp

  constructor({ in: width, out, hidden = out, ...rest }: GateUnitOptions) {
    super()
    refuseOptions('nn.GateUnit', rest, { in: true, out: true, hidden: true } satisfies OptionNames<GateUnitOptions>)
    this.#layers = this.addSublayer('fc', new Mlp({ in: width, sizes: [hidden, out], lastActivation: 'sigmoid' }))
  }

  forward(x: Tensor): Tensor {
    return mul(this.#layers.forward(x), 2)
  }
}
