/** @file The layers that own weights, each the object form of the function of the same name beside it. */
import { type OptionNames, refuseOptions, unknownOf } from '../../base/util/index.ts'
import { add, mean, mul, phase, type TableSpec, type Tensor, variance } from '../program/index.ts'
import type { Activation } from './activation.ts'
import {
  DEFAULT_EMBEDDING_INIT,
  EMBEDDING,
  type EmbeddingOptions,
  embedding,
  SEQUENCE,
  type SequenceOptions,
  type SparseSlot,
  sequenceEmbedding,
} from './embedding.ts'
import { Layer, type Variable } from './layer.ts'
import { affine, LINEAR, type LinearOptions, MLP, type MlpOptions } from './linear.ts'
import { dropout, standardize } from './normalization.ts'

/** Options of Linear. */
export interface LinearLayerOptions extends Omit<LinearOptions, 'name'> {
  /** Columns of the operand. */
  readonly in: number
}

const LINEAR_LAYER: OptionNames<LinearLayerOptions> = { in: true, ...layerNames(LINEAR) }

/** activation(x W + b) over the last axis; `weight` [in, out] and `bias` [out]. */
export class Linear extends Layer {
  readonly weight: Variable
  readonly bias: Variable | undefined
  readonly #activation: Activation | undefined

  constructor(options: LinearLayerOptions) {
    super()
    refuseOptions('nn.Linear', unknownOf(options, LINEAR_LAYER), LINEAR_LAYER)
    const { out, activation, init = { kind: 'xavier_uniform' }, biasInit = { kind: 'zeros' }, l2 } = options
    const shape = [options.in, out]
    this.weight = this.addParameter({ name: 'weight', shape, init, l2 })
    this.bias = biasInit ? this.addParameter({ name: 'bias', shape: [out], init: biasInit }) : undefined
    this.#activation = activation
  }

  forward(x: Tensor): Tensor {
    return affine(x, this.weight.on(x.builder), this.bias?.on(x.builder), this.#activation)
  }
}

/** Options of Mlp. */
export interface MlpLayerOptions extends Omit<MlpOptions, 'name'> {
  /** Columns of the operand. */
  readonly in: number
}

const MLP_LAYER: OptionNames<MlpLayerOptions> = { in: true, ...layerNames(MLP) }

/** A stack of linear layers, named `0`, `1`, ... */
export class Mlp extends Layer {
  readonly #layers: readonly Linear[]

  constructor({ in: width, sizes, activation = 'relu', lastActivation, ...options }: MlpLayerOptions) {
    super()
    refuseOptions('nn.Mlp', unknownOf(options, MLP_LAYER), MLP_LAYER)
    this.#layers = sizes.map((out, i) => {
      const after = i < sizes.length - 1 ? activation : lastActivation
      return this.addSublayer(String(i), new Linear({ ...options, in: sizes[i - 1] ?? width, out, activation: after }))
    })
  }

  forward(x: Tensor): Tensor {
    return this.#layers.reduce((input, layer) => layer.forward(input), x)
  }
}

/** A layer has the options of its function, but is named by its path. */
function layerNames<T extends { readonly name: true }>({ name: _, ...others }: T): Omit<T, 'name'> {
  return others
}

type TableLayerOptions = Pick<EmbeddingOptions, 'dim' | 'init' | 'entry' | 'table'>

/** Rows of a sparse table; the table is named by the layer's path unless `table` is given. */
abstract class TableLayer<Options extends TableLayerOptions> extends Layer {
  protected readonly options: Options

  constructor(options: Options, what: string, names: OptionNames<Options>) {
    super()
    refuseOptions(what, unknownOf(options, names), names)
    this.options = options
  }

  override tables(): readonly TableSpec[] {
    const { dim, init = DEFAULT_EMBEDDING_INIT, entry, table = this.path() } = this.options
    return [{ name: table, dim, init, entry }]
  }

  /** What `make` returns for these slots, made once a graph. Other slots in the same graph get another name. */
  protected rowsOf<T>(slots: readonly SparseSlot[], make: (name: string, table: string) => T): T {
    const builder = slots[0]?.builder
    const { table = this.path() } = this.options
    if (!builder) return make(this.path(), table)
    const known = (builder.kept.get(this) as Map<string, unknown> | undefined) ?? new Map<string, unknown>()
    builder.kept.set(this, known)
    const key = slots.map(({ name }) => name).join('+')
    if (!known.has(key)) known.set(key, make(known.size === 0 ? this.path() : `${this.path()}:${key}`, table))
    return known.get(key) as T
  }
}

/** Pooled rows of one or more slots side by side: [B, slots * dim]. */
export class Embedding extends TableLayer<Omit<EmbeddingOptions, 'name'>> {
  constructor(options: Omit<EmbeddingOptions, 'name'>) {
    super(options, 'nn.Embedding', layerNames(EMBEDDING))
  }

  forward(slots: SparseSlot | readonly SparseSlot[]): Tensor {
    const list = [slots].flat() as readonly SparseSlot[]
    return this.rowsOf(list, (name, table) => embedding(list, { ...this.options, name, table }))
  }
}

/** The rows of one slot in order, padded: x [B, T, dim] and mask [B, T]. */
export class SequenceEmbedding extends TableLayer<Omit<SequenceOptions, 'name'>> {
  constructor(options: Omit<SequenceOptions, 'name'>) {
    super(options, 'nn.SequenceEmbedding', layerNames(SEQUENCE))
  }

  forward(slot: SparseSlot): { readonly x: Tensor; readonly mask: Tensor } {
    return this.rowsOf([slot], (name, table) => sequenceEmbedding(slot, { ...this.options, name, table }))
  }
}

/** Sets elements to 0 at random while training. A layer called twice in a step draws anew. */
export class Dropout extends Layer {
  readonly #rate: number

  constructor({ rate = 0.5, ...rest }: { readonly rate?: number | undefined } = {}) {
    super()
    refuseOptions('nn.Dropout', rest, { rate: true })
    this.#rate = rate
  }

  forward(x: Tensor): Tensor {
    if (!this.training) return x
    const { kept } = x.builder
    const call = (kept.get(this) as number | undefined) ?? 0
    kept.set(this, call + 1)
    return dropout(x, { name: call === 0 ? this.path() : `${this.path()}:${call}`, rate: this.#rate })
  }
}

/** Options of LayerNorm and BatchNorm. */
export interface NormOptions {
  /** Columns of the operand. */
  readonly width: number
  /** @default 1e-5 */
  readonly epsilon?: number | undefined
}

const NORM: OptionNames<NormOptions> = { width: true, epsilon: true }

/** Each sample's last axis to mean 0 and variance 1, then `weight` and `bias`. */
export class LayerNorm extends Layer {
  readonly weight: Variable
  readonly bias: Variable
  readonly #epsilon: number

  constructor({ width, epsilon = 1e-5, ...rest }: NormOptions) {
    super()
    refuseOptions('nn.LayerNorm', rest, NORM)
    this.weight = this.addParameter({ name: 'weight', shape: [width], init: { kind: 'constant', value: 1 } })
    this.bias = this.addParameter({ name: 'bias', shape: [width], init: { kind: 'zeros' } })
    this.#epsilon = epsilon
  }

  forward(x: Tensor): Tensor {
    const y = standardize(x, mean(x, -1, true), variance(x, -1, true), this.#epsilon)
    return scaleAndShift(y, this.weight, this.bias)
  }
}

/** Each column by the statistics of the batch while training, by running ones after `eval()` and at inference. */
export class BatchNorm extends Layer {
  readonly weight: Variable
  readonly bias: Variable
  readonly runningMean: Variable
  readonly runningVariance: Variable
  readonly #epsilon: number
  readonly #momentum: number

  constructor({
    width,
    epsilon = 1e-5,
    momentum = 0.9,
    ...rest
  }: NormOptions & { readonly momentum?: number | undefined }) {
    super()
    refuseOptions('nn.BatchNorm', rest, { ...NORM, momentum: true })
    const constant = (value: number) => ({ shape: [width], init: { kind: 'constant', value } as const })
    this.weight = this.addParameter({ name: 'weight', ...constant(1) })
    this.bias = this.addParameter({ name: 'bias', ...constant(0) })
    this.runningMean = this.addState({ name: 'running_mean', ...constant(0), merge: 'mean' })
    this.runningVariance = this.addState({ name: 'running_variance', ...constant(1), merge: 'mean' })
    this.#epsilon = epsilon
    this.#momentum = momentum
  }

  forward(x: Tensor): Tensor {
    const axes = [...x.shape.keys()].slice(0, -1)
    const center = this.#running(this.runningMean, mean(x, axes))
    const spread = this.#running(this.runningVariance, variance(x, axes))
    const y = standardize(x, center, spread, this.#epsilon)
    return scaleAndShift(y, this.weight, this.bias)
  }

  #running(statistic: Variable, batch: Tensor): Tensor {
    const { builder } = batch
    const state = statistic.on(builder)
    if (!this.training) return state
    builder.setState(state, add(mul(state, this.#momentum), mul(batch, 1 - this.#momentum)))
    return phase(batch, state)
  }
}

function scaleAndShift(x: Tensor, ...variables: [Variable, Variable]): Tensor {
  const [weight, bias] = variables.map((variable) => variable.on(x.builder))
  return add(mul(x, weight!), bias!)
}
