/** @file The layers that own weights, each the object form of the function of the same name beside it. */
import { add, mean, mul, phase, type TableSpec, type Tensor, variance } from '../program/index.ts'
import type { Activation } from './activation.ts'
import {
  DEFAULT_EMBEDDING_INIT,
  type EmbeddingOptions,
  embedding,
  type SequenceOptions,
  type SparseSlot,
  sequenceEmbedding,
} from './embedding.ts'
import { Layer, type Variable } from './layer.ts'
import { affine, type LinearOptions, type MlpOptions } from './linear.ts'
import { dropout, standardize } from './normalization.ts'

export interface LinearLayerOptions extends Omit<LinearOptions, 'name'> {
  /** Columns of the operand. */
  readonly in: number
}

/** activation(x W + b) over the last axis; `weight` [in, out] and `bias` [out]. */
export class Linear extends Layer {
  readonly weight: Variable
  readonly bias: Variable | undefined
  readonly #activation: Activation | undefined

  constructor(options: LinearLayerOptions) {
    super()
    const { out, activation, init = { kind: 'xavier_uniform' }, biasInit = { kind: 'zeros' }, l2 } = options
    const shape = [options.in, out]
    this.weight = this.addParameter({ name: 'weight', shape, init, ...(l2 !== undefined && { l2 }) })
    this.bias = biasInit ? this.addParameter({ name: 'bias', shape: [out], init: biasInit }) : undefined
    this.#activation = activation
  }

  forward(x: Tensor): Tensor {
    return affine(x, this.weight.on(x.builder), this.bias?.on(x.builder), this.#activation)
  }
}

export interface MlpLayerOptions extends Omit<MlpOptions, 'name'> {
  /** Columns of the operand. */
  readonly in: number
}

/** A stack of linear layers, named `0`, `1`, ... */
export class Mlp extends Layer {
  readonly #layers: readonly Linear[]

  constructor({ in: width, sizes, activation = 'relu', lastActivation, ...options }: MlpLayerOptions) {
    super()
    this.#layers = sizes.map((out, i) => {
      const act = i < sizes.length - 1 ? activation : lastActivation
      const layer = new Linear({ ...options, in: sizes[i - 1] ?? width, out, ...(act && { activation: act }) })
      return this.addSublayer(String(i), layer)
    })
  }

  forward(x: Tensor): Tensor {
    return this.#layers.reduce((input, layer) => layer.forward(input), x)
  }
}

type TableLayerOptions = Pick<EmbeddingOptions, 'dim' | 'init' | 'entry' | 'table'>

/** Rows of a sparse table; the table is named by the layer's path unless `table` is given. */
abstract class TableLayer extends Layer {
  readonly #options: TableLayerOptions

  constructor(options: TableLayerOptions) {
    super()
    this.#options = options
  }

  override tables(): readonly TableSpec[] {
    const { dim, init = DEFAULT_EMBEDDING_INIT, entry, table = this.path() } = this.#options
    return [{ name: table, dim, init, ...(entry && { entry }) }]
  }

  /** What `make` returns for these slots, made once a graph. Other slots in the same graph get another name. */
  protected rowsOf<T>(slots: readonly SparseSlot[], make: (name: string, table: string) => T): T {
    const builder = slots[0]?.builder
    const { table = this.path() } = this.#options
    if (!builder) return make(this.path(), table)
    const known = (builder.kept.get(this) as Map<string, unknown> | undefined) ?? new Map<string, unknown>()
    builder.kept.set(this, known)
    const key = slots.map(({ name }) => name).join('+')
    if (!known.has(key)) known.set(key, make(known.size === 0 ? this.path() : `${this.path()}:${key}`, table))
    return known.get(key) as T
  }
}

/** Pooled rows of one or more slots side by side: [B, slots * dim]. */
export class Embedding extends TableLayer {
  readonly #options: Omit<EmbeddingOptions, 'name'>

  constructor(options: Omit<EmbeddingOptions, 'name'>) {
    super(options)
    this.#options = options
  }

  forward(slots: SparseSlot | readonly SparseSlot[]): Tensor {
    const list = [slots].flat() as readonly SparseSlot[]
    return this.rowsOf(list, (name, table) => embedding(list, { ...this.#options, name, table }))
  }
}

/** The rows of one slot in order, padded: x [B, T, dim] and mask [B, T]. */
export class SequenceEmbedding extends TableLayer {
  readonly #options: Omit<SequenceOptions, 'name'>

  constructor(options: Omit<SequenceOptions, 'name'>) {
    super(options)
    this.#options = options
  }

  forward(slot: SparseSlot): { readonly x: Tensor; readonly mask: Tensor } {
    return this.rowsOf([slot], (name, table) => sequenceEmbedding(slot, { ...this.#options, name, table }))
  }
}

/** Sets elements to 0 at random while training. A layer called twice in a step draws anew. */
export class Dropout extends Layer {
  readonly #rate: number

  constructor({ rate = 0.5 }: { readonly rate?: number } = {}) {
    super()
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

export interface NormOptions {
  /** Columns of the operand. */
  readonly width: number
  /** @default 1e-5 */
  readonly epsilon?: number
}

/** Each sample's last axis to mean 0 and variance 1, then `weight` and `bias`. */
export class LayerNorm extends Layer {
  readonly weight: Variable
  readonly bias: Variable
  readonly #epsilon: number

  constructor({ width, epsilon = 1e-5 }: NormOptions) {
    super()
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

  constructor({ width, epsilon = 1e-5, momentum = 0.9 }: NormOptions & { readonly momentum?: number }) {
    super()
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
