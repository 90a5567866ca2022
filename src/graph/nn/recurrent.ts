/** @file GRU and LSTM as functions and as layers, AUGRU as a layer, unrolled over a padded sequence: one product for all inputs, then one small one per element. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  add,
  gemm,
  type Initializer,
  mul,
  type ParameterSpec,
  reshape,
  sigmoid,
  slice,
  split,
  stack,
  sub,
  type Tensor,
  tanh,
  unsqueeze,
} from '../program/index.ts'
import { Layer, type Variable } from './layer.ts'
import { keepWhereMasked, zeroState } from './sequence.ts'
import { lengthOf, widthOf } from './shape.ts'

/** Options of gru and lstm. */
export interface RecurrentOptions {
  readonly name: string
  /** Columns of the state. */
  readonly units: number
  /** [B, T]: where it is 0 the state stays as it was. @default all ones */
  readonly mask?: Tensor | undefined
}

const RECURRENT: OptionNames<RecurrentOptions> = { name: true, units: true, mask: true }

/** States after each element [B, T, units], and the last one [B, units]. */
export interface RecurrentResult {
  readonly outputs: Tensor
  readonly last: Tensor
}

/** Weights side by side for all gates. */
export interface RecurrentWeights<T> {
  readonly inputWeight: T
  readonly stateWeight: T
  readonly inputBias: T
  readonly stateBias: T
}

interface RunOptions {
  /** For messages. */
  readonly name: string
  readonly units: number
  readonly weights: RecurrentWeights<Tensor>
  readonly mask?: Tensor | undefined
}

/** Matrices side by side in the weights. */
const GATES = { gru: 3, lstm: 4 } as const

/**
 * r = s(x Wr + h Ur), z = s(x Wz + h Uz), n = tanh(x Wn + r (h Un)), h' = (1 - z) n + z h, each product with its bias.
 * Parameters: `<name>.input_weight` [d, 3 units] (r, z, n side by side), `.state_weight` [units, 3 units], and both biases.
 */
export function gru(x: Tensor, { name, units, mask, ...rest }: RecurrentOptions): RecurrentResult {
  refuseOptions('nn.gru', rest, RECURRENT)
  const parameter = (spec: ParameterSpec) => x.builder.parameter({ ...spec, name: `${name}.${spec.name}` })
  return runGru(x, { name, units, weights: recurrentWeights(widthOf(x, name), units, GATES.gru, parameter), mask })
}

/** GRU over weights that exist already. */
function runGru(x: Tensor, { name, units, weights, mask }: RunOptions): RecurrentResult {
  const { inputs, project } = projections(x, name, weights)
  return unroll(inputs, [zeroState(x, units)], ([h], input) => [gruCell(input, project(h!), h!)], mask)
}

/** The state after h, of what input and state say to the three gates, side by side. */
export function gruCell(input: Tensor, state: Tensor, h: Tensor): Tensor {
  const [xr, xz, xn] = split(input, 3, -1)
  const [hr, hz, hn] = split(state, 3, -1)
  const r = sigmoid(add(xr!, hr!))
  const z = sigmoid(add(xz!, hz!))
  const n = tanh(add(xn!, mul(r, hn!)))
  return add(n, mul(z, sub(h, n)))
}

/** AUGRU over weights that exist already. */
function runAuGru(x: Tensor, attention: Tensor, { name, units, weights, mask }: RunOptions): RecurrentResult {
  const { inputs, project } = projections(x, name, weights)
  const cell = (input: Tensor, h: Tensor, share: Tensor): Tensor => {
    const [xr, xu, xn] = split(input, 3, -1)
    const [hr, hu, hn] = split(project(h), 3, -1)
    const r = sigmoid(add(xr!, hr!))
    const u = mul(unsqueeze(share, 1), sigmoid(add(xu!, hu!)))
    const n = tanh(add(xn!, mul(r, hn!)))
    return add(h, mul(u, sub(n, h)))
  }
  const step = ([h]: readonly Tensor[], input: Tensor, t: number) => [cell(input, h!, elementAt(attention, t))]
  return unroll(inputs, [zeroState(x, units)], step, mask)
}

/**
 * i, f, o = s(...), g = tanh(...), c' = f c + i g, h' = o tanh(c'). Parameters as in gru, with i, f, g, o side by side.
 */
export function lstm(x: Tensor, { name, units, mask, ...rest }: RecurrentOptions): RecurrentResult {
  refuseOptions('nn.lstm', rest, RECURRENT)
  const parameter = (spec: ParameterSpec) => x.builder.parameter({ ...spec, name: `${name}.${spec.name}` })
  return runLstm(x, { name, units, weights: recurrentWeights(widthOf(x, name), units, GATES.lstm, parameter), mask })
}

/** LSTM over weights that exist already. */
function runLstm(x: Tensor, { name, units, weights, mask }: RunOptions): RecurrentResult {
  const { inputs, project } = projections(x, name, weights)
  const cell = (input: Tensor, h: Tensor, c: Tensor): readonly Tensor[] => {
    const [i, f, g, o] = split(add(input, project(h)), 4, -1)
    const next = add(mul(sigmoid(f!), c), mul(sigmoid(i!), tanh(g!)))
    return [mul(sigmoid(o!), tanh(next)), next]
  }
  const zero = zeroState(x, units)
  return unroll(inputs, [zero, zero], ([h, c], input) => cell(input, h!, c!), mask)
}

/** The four weights of a recurrent layer, made by `parameter`: as tensors of a graph or as variables of a layer. */
export function recurrentWeights<T>(
  width: number,
  units: number,
  gates: number,
  parameter: (spec: ParameterSpec) => T,
  init: Initializer = { kind: 'uniform', low: -1 / Math.sqrt(units), high: 1 / Math.sqrt(units) },
): RecurrentWeights<T> {
  const columns = gates * units
  return {
    inputWeight: parameter({ name: 'input_weight', shape: [width, columns], init }),
    stateWeight: parameter({ name: 'state_weight', shape: [units, columns], init }),
    inputBias: parameter({ name: 'input_bias', shape: [columns], init }),
    stateBias: parameter({ name: 'state_bias', shape: [columns], init }),
  }
}

/** The input's part of every gate for all elements at once, and the function that gives the state's part. */
function projections(x: Tensor, name: string, weights: RecurrentWeights<Tensor>) {
  const { inputWeight, stateWeight, inputBias, stateBias } = weights
  const [width, length] = [widthOf(x, name), lengthOf(x, name)]
  const flat = gemm(reshape(x, [-1, width]), inputWeight, { bias: inputBias })
  return {
    inputs: reshape(flat, [x.shape[0]!, length, inputWeight.shape[1]!]),
    project: (h: Tensor) => gemm(h, stateWeight, { bias: stateBias }),
  }
}

/** Runs the cell over T; the first state is the output. */
function unroll(
  inputs: Tensor,
  start: readonly Tensor[],
  cell: (states: readonly Tensor[], input: Tensor, t: number) => readonly Tensor[],
  mask?: Tensor,
): RecurrentResult {
  const outputs: Tensor[] = []
  let states = start
  for (let t = 0; t < Number(inputs.shape[1]); t++) {
    const next = cell(states, elementAt(inputs, t), t)
    const previous = states
    states = mask ? next.map((state, i) => keepWhereMasked(state, previous[i]!, elementAt(mask, t))) : next
    outputs.push(states[0]!)
  }
  return { outputs: stack(outputs, 1), last: states[0]! }
}

/** Element t of [B, T, ..]: [B, ..]. */
function elementAt(x: Tensor, t: number): Tensor {
  return reshape(slice(x, 1, t, t + 1), x.shape.toSpliced(1, 1))
}

/** Options of Gru, AuGru and Lstm. */
export interface RecurrentLayerOptions {
  /** Columns of the operand. */
  readonly in: number
  /** Columns of the state. */
  readonly units: number
  /** @default uniform in +-1 / sqrt(units) */
  readonly init?: Initializer | undefined
  /** Multiplies the optimizer's rate for all four weights. @default 1 */
  readonly learningRate?: number | undefined
}

const RECURRENT_LAYER: OptionNames<RecurrentLayerOptions> = { in: true, units: true, init: true, learningRate: true }

abstract class Recurrent extends Layer {
  readonly #weights: RecurrentWeights<Variable>
  readonly #units: number

  constructor({ in: width, units, init, learningRate, ...rest }: RecurrentLayerOptions, gates: number) {
    super()
    refuseOptions(`nn.${new.target.name}`, rest, RECURRENT_LAYER)
    this.#units = units
    const parameter = (spec: ParameterSpec) => this.addParameter({ ...spec, learningRate })
    this.#weights = recurrentWeights(width, units, gates, parameter, init)
  }

  /** What runGru, runAuGru and runLstm ask for, in the graph of x. */
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

/**
 * A GRU whose update gate is scaled by attention [B, T]: u' = a u, h' = (1 - u') h + u' n, so that elements that have nothing to do
 * with the query leave the state as it was. x [B, T, in] and a mask [B, T]; parameters as in Gru, with r, u, n side by side.
 */
export class AuGru extends Recurrent {
  constructor(options: RecurrentLayerOptions) {
    super(options, GATES.gru)
  }

  forward(x: Tensor, attention: Tensor, mask?: Tensor): RecurrentResult {
    return runAuGru(x, attention, this.options(x, mask))
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
