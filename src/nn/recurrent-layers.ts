/** @file GRU and LSTM as layers that own their weights. */
import type { Initializer, Tensor } from '../program/index.ts'
import { Layer, type Variable } from './layer.ts'
import { GATES, type RecurrentResult, type RecurrentWeights, recurrentWeights, runGru, runLstm } from './recurrent.ts'

export interface RecurrentLayerOptions {
  /** Columns of the operand. */
  readonly in: number
  /** Columns of the state. */
  readonly units: number
  /** @default uniform in +-1 / sqrt(units) */
  readonly init?: Initializer
  /** Multiplies the optimizer's rate for all four weights. @default 1 */
  readonly learningRate?: number
}

abstract class Recurrent extends Layer {
  readonly #weights: RecurrentWeights<Variable>
  readonly #units: number

  constructor({ in: width, units, init, learningRate }: RecurrentLayerOptions, gates: number) {
    super()
    this.#units = units
    this.#weights = recurrentWeights(
      width,
      units,
      gates,
      (spec) => this.addParameter({ ...spec, ...(learningRate !== undefined && { learningRate }) }),
      init,
    )
  }

  /** What the functions of recurrent.ts ask for, in the graph of x. */
  protected options({ builder }: Tensor, mask?: Tensor) {
    const { inputWeight, stateWeight, inputBias, stateBias } = this.#weights
    const weights = {
      inputWeight: inputWeight.on(builder),
      stateWeight: stateWeight.on(builder),
      inputBias: inputBias.on(builder),
      stateBias: stateBias.on(builder),
    }
    return { name: this.path(), units: this.#units, weights, mask }
  }
}

/** The layer of `gru`: x [B, T, in] and a mask [B, T]. */
export class Gru extends Recurrent {
  constructor(options: RecurrentLayerOptions) {
    super(options, GATES.gru)
  }

  forward(x: Tensor, mask?: Tensor): RecurrentResult {
    return runGru(x, this.options(x, mask))
  }
}

/** The layer of `lstm`: x [B, T, in] and a mask [B, T]. */
export class Lstm extends Recurrent {
  constructor(options: RecurrentLayerOptions) {
    super(options, GATES.lstm)
  }

  forward(x: Tensor, mask?: Tensor): RecurrentResult {
    return runLstm(x, this.options(x, mask))
  }
}
