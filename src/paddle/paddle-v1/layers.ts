/** @file The layers of a trainer_config.ts: the original's names over nn/. Each returns what further layers take. */
import {
  ACTIVATIONS,
  type Activation,
  affine,
  conv1d,
  cosineSimilarity,
  maskedMax,
  maskedMean,
  softmaxCrossEntropy,
  squareError,
} from '../../graph/nn/index.ts'
import { add, concat, type Initializer, mul, sum, type Tensor, unsqueeze } from '../../graph/program/index.ts'
import { type ConfigUnderWay, type DataLayer, underWay } from './config-scope.ts'
import { layerError } from './errors.ts'

/** What a layer gives: data as it is read, rows of a table, numbers, a sequence of numbers, or the cost of each sample. */
export type LayerOutput =
  | { readonly kind: 'data'; readonly name: string; readonly size: number; readonly data: DataLayer }
  | { readonly kind: 'embedding'; readonly name: string; readonly size: number; readonly data: DataLayer }
  | { readonly kind: 'tensor'; readonly name: string; readonly size: number; readonly x: Tensor }
  | {
      readonly kind: 'sequence'
      readonly name: string
      readonly size: number
      readonly x: Tensor
      readonly mask: Tensor
    }
  | { readonly kind: 'cost'; readonly name: string; readonly size: 1; readonly x: Tensor }

interface Named {
  /** @default the kind of layer with a number */
  readonly name?: string
}

/** An input: `size` is how many ids there are, or how many numbers a sample has. What it is follows from its first use. */
export function dataLayer({ name, size }: { readonly name: string; readonly size: number }): LayerOutput {
  const config = underWay('dataLayer')
  if (!Number.isSafeInteger(size) || size < 1)
    throw layerError(`data layer "${name}": size must be a whole number from 1 on, got ${size}.`, 'size: 10')
  if (config.data.has(name))
    throw layerError(`There are two data layers "${name}".`, 'Use what the first call returned.')
  const data: DataLayer = { name, size }
  config.data.set(name, data)
  return { kind: 'data', name, size, data }
}

/** Options of embeddingLayer. */
export interface EmbeddingLayerOptions extends Named {
  /** A data layer of ids. */
  readonly input: LayerOutput
  /** Columns of each row. */
  readonly size: number
  /** @default normal with a deviation of 1 / sqrt(number of ids), as the original begins */
  readonly init?: Initializer
}

/** Rows of a sparse table: that of an id, or those of a sequence, as the layer that takes them wants. */
export function embeddingLayer({ input, size, name: given, init }: EmbeddingLayerOptions): LayerOutput {
  const config = underWay('embeddingLayer')
  const name = config.layerName('embedding', given)
  if (input.kind !== 'data')
    throw layerError(
      `embedding layer "${name}": "${input.name}" is no data layer.`,
      'Give it what dataLayer() returned.',
    )
  config.tables.set(name, { dim: size, init: init ?? normal(input.size) })
  return { kind: 'embedding', name, size, data: input.data }
}

/** Options of fcLayer. */
export interface FcLayerOptions extends Named {
  /** Of several inputs the products are added up. */
  readonly input: LayerOutput | readonly LayerOutput[]
  readonly size: number
  /** `null` for none. @default 'tanh' */
  readonly act?: Activation | null
  /** false: no bias. @default zeros */
  readonly bias?: boolean
  /** Of the weights. @default normal with a deviation of 1 / sqrt(rows) */
  readonly init?: Initializer
}

/** act(x w + b) of numbers, or of each element of a sequence. */
export function fcLayer({ input, size, act = 'tanh', bias = true, init, name: given }: FcLayerOptions): LayerOutput {
  const config = underWay('fcLayer')
  const name = config.layerName('fc_layer', given)
  const inputs = [input].flat() as readonly LayerOutput[]
  const [first, ...others] = inputs.map((one) =>
    one.kind === 'sequence' ? one : numbers(config, one, `fc layer "${name}"`),
  )
  if (!first) throw layerError(`fc layer "${name}" has no input.`, 'input: [movie, user]')
  const odd = others.find(({ kind }) => kind !== first.kind)
  if (odd) throw layerError(`fc layer "${name}": "${odd.name}" and "${first.name}" are not both sequences.`, POOL)
  const weight = (width: number, i: number) =>
    config.builder.parameter({ name: `_${name}.w${i}`, shape: [width, size], init: init ?? { kind: 'lecun_normal' } })
  const offset = bias
    ? config.builder.parameter({ name: `_${name}.wbias`, shape: [size], init: { kind: 'zeros' } })
    : undefined
  const product = affine(first.x, weight(first.size, 0), offset)
  const y = others.reduce((total, one, i) => add(total, affine(one.x, weight(one.size, i + 1))), product)
  const x = act ? ACTIVATIONS[act](y) : y
  return first.kind === 'sequence' ? { ...first, name, size, x } : { kind: 'tensor', name, size, x }
}

/** Options of textConvPool. */
export interface TextConvPoolOptions extends Named {
  /** An embedding of a sequence. */
  readonly input: LayerOutput
  /** Elements that each result sees: those around it. */
  readonly contextLen: number
  readonly hiddenSize: number
  /** After the fully connected layer. @default 'tanh' */
  readonly act?: Activation
  /** @default 'max' */
  readonly poolingType?: PoolingType
}

/** Context window, fully connected layer, pooling over the sequence. */
export function textConvPool(options: TextConvPoolOptions): LayerOutput {
  const { input, contextLen, hiddenSize, act = 'tanh', poolingType = 'max', name: given } = options
  const config = underWay('textConvPool')
  const name = config.layerName('text_conv_pool', given)
  const { x, mask } = sequence(config, input, `text conv pool "${name}"`)
  const y = ACTIVATIONS[act](
    conv1d(x, { name: `_${name}`, out: hiddenSize, kernel: contextLen, init: { kind: 'lecun_normal' } }),
  )
  return { kind: 'tensor', name, size: hiddenSize, x: POOLINGS[poolingType](y, mask) }
}

const POOLINGS = {
  max: maskedMax,
  average: maskedMean,
  sum: (x: Tensor, mask: Tensor) => sum(mul(x, unsqueeze(mask, -1)), 1),
} as const
/** How a sequence becomes one vector. */
export type PoolingType = keyof typeof POOLINGS

/** Options of poolingLayer. */
export interface PoolingLayerOptions extends Named {
  readonly input: LayerOutput
  /** @default 'max' */
  readonly poolingType?: PoolingType
}

/** A sequence as one: the largest, the mean or the sum of its elements. */
export function poolingLayer({ input, poolingType = 'max', name: given }: PoolingLayerOptions): LayerOutput {
  const config = underWay('poolingLayer')
  const name = config.layerName('seq_pooling', given)
  const { x, mask, size } = sequence(config, input, `pooling layer "${name}"`)
  const pool = POOLINGS[poolingType]
  if (!pool) throw layerError(`pooling layer "${name}": there is no pooling "${poolingType}".`, 'max, average or sum')
  return { kind: 'tensor', name, size, x: pool(x, mask) }
}

/** Inputs side by side. */
export function concatLayer({ input, name: given }: Named & { readonly input: readonly LayerOutput[] }): LayerOutput {
  const config = underWay('concatLayer')
  const name = config.layerName('concat', given)
  const all = input.map((one) => numbers(config, one, `concat layer "${name}"`))
  return {
    kind: 'tensor',
    name,
    size: all.reduce((sum_, { size }) => sum_ + size, 0),
    x: concat(
      all.map(({ x }) => x),
      -1,
    ),
  }
}

/** Inputs of one size, added up. */
export function addtoLayer(
  options: Named & { readonly input: readonly LayerOutput[]; readonly act?: Activation | null },
): LayerOutput {
  const config = underWay('addtoLayer')
  const name = config.layerName('addto', options.name)
  const [first, ...others] = options.input.map((one) => numbers(config, one, `addto layer "${name}"`))
  if (!first) throw layerError(`addto layer "${name}" has no input.`, 'input: [a, b]')
  const total = others.reduce((x, other) => add(x, other.x), first.x)
  return { kind: 'tensor', name, size: first.size, x: options.act ? ACTIVATIONS[options.act](total) : total }
}

/** scale times the cosine of the angle between a and b. */
export function cosSim(
  options: Named & { readonly a: LayerOutput; readonly b: LayerOutput; readonly scale?: number },
): LayerOutput {
  const { a, b, scale = 5 } = options
  const config = underWay('cosSim')
  const name = config.layerName('cos_sim', options.name)
  const [left, right] = [a, b].map((one) => numbers(config, one, `cosine "${name}"`)) as [Numbers, Numbers]
  if (left.size !== right.size)
    throw layerError(
      `cosine "${name}": "${a.name}" has ${left.size} columns, "${b.name}" ${right.size}.`,
      'Give both fc layers one size.',
    )
  return { kind: 'tensor', name, size: 1, x: mul(cosineSimilarity(left.x, right.x), scale) }
}

interface CostOptions extends Named {
  readonly input: LayerOutput
  readonly label: LayerOutput
}

/** The square of the difference. */
export function regressionCost({ input, label, name: given }: CostOptions): LayerOutput {
  const config = underWay('regressionCost')
  const name = config.layerName('regression_cost', given)
  const [x, y] = [input, label].map((one) => numbers(config, one, `cost "${name}"`)) as [Numbers, Numbers]
  if (x.size !== y.size)
    throw layerError(
      `cost "${name}": "${input.name}" has ${x.size} columns, "${label.name}" ${y.size}.`,
      'They must be alike.',
    )
  return { kind: 'cost', name, size: 1, x: sum(squareError(x.x, y.x), -1, true) }
}

/** Cross-entropy of scores, which need no softmax of their own, and a class: a data layer whose size is the number of classes. */
export function classificationCost({ input, label, name: given }: CostOptions): LayerOutput {
  const config = underWay('classificationCost')
  const name = config.layerName('classification_cost', given)
  const scores = numbers(config, input, `cost "${name}"`)
  if (label.kind !== 'data' || label.size !== scores.size)
    throw layerError(
      `cost "${name}": the label must be a data layer of ${scores.size} classes, as many as "${input.name}" has columns.`,
      `dataLayer({ name: 'label', size: ${scores.size} })`,
    )
  config.use(label.data, 'label')
  label.data.tensor ??= config.builder.feed(label.name, ['B', 1], 'int64')
  return { kind: 'cost', name, size: 1, x: softmaxCrossEntropy(scores.x, label.data.tensor) }
}

/** What the network is for: its cost, or, in a network for prediction, what it computes. */
export function outputs(...layers: readonly LayerOutput[]): void {
  const config = underWay('outputs')
  if (layers.length === 0) throw layerError('outputs() was given nothing.', 'outputs(regressionCost({ input, label }))')
  config.outputs = layers.map((layer) =>
    layer.kind === 'cost'
      ? { name: layer.name, kind: 'cost', tensor: layer.x }
      : { name: layer.name, kind: 'value', tensor: numbers(config, layer, 'outputs()').x },
  )
}

type Numbers = Extract<LayerOutput, { kind: 'tensor' }>
type Sequence = Extract<LayerOutput, { kind: 'sequence' }>

/** A layer as one row of numbers for each sample. */
function numbers(config: ConfigUnderWay, layer: LayerOutput, who: string): Numbers {
  if (layer.kind === 'tensor') return layer
  if (layer.kind === 'embedding') return { ...layer, kind: 'tensor', x: idRow(config, layer) }
  if (layer.kind === 'data') {
    const { data, size } = layer
    config.use(data, 'dense')
    if (size > DENSE_COLUMNS)
      throw layerError(
        `${who}: data layer "${data.name}" has ${size} columns, and numbers may have ${DENSE_COLUMNS}.`,
        'Read it as ids and look them up: embeddingLayer({ input, size }).',
      )
    data.tensor ??= config.builder.feed(data.name, ['B', size], 'float32')
    return { ...layer, kind: 'tensor', x: data.tensor }
  }
  throw layerError(
    `${who}: "${layer.name}" is ${layer.kind === 'cost' ? 'a cost' : 'a sequence'}, not one row of numbers.`,
    layer.kind === 'cost' ? 'Costs go to outputs().' : POOL,
  )
}

/** Each such number is stored and multiplied, zeros too. */
const DENSE_COLUMNS = 65_536
const POOL = 'Pool the sequence first: poolingLayer({ input }).'

function sequence(config: ConfigUnderWay, layer: LayerOutput, who: string): Sequence {
  if (layer.kind === 'sequence') return layer
  if (layer.kind !== 'embedding')
    throw layerError(`${who}: "${layer.name}" is no sequence.`, 'Give it an embedding of a sequence of ids.')
  const x = rows(config, layer, 'sequence')
  return { ...layer, kind: 'sequence', x, mask: config.builder.maskOf(x) }
}

const idRow = (config: ConfigUnderWay, layer: Extract<LayerOutput, { kind: 'embedding' }>) => rows(config, layer, 'sum')

function rows(
  config: ConfigUnderWay,
  { name, data, size }: Extract<LayerOutput, { kind: 'embedding' }>,
  pooling: 'sum' | 'sequence',
): Tensor {
  config.use(data, pooling === 'sum' ? 'ids' : 'sequence')
  const known = config.rows.get(name)
  if (known) return known
  const { init } = config.tables.get(name)!
  const tensor = config.builder.rows({ name, table: `_${name}.w0`, slots: [data.name], dim: size, pooling, init })
  config.rows.set(name, tensor)
  return tensor
}

/** The original's first weights. */
function normal(rows_: number): Initializer {
  return { kind: 'normal', mean: 0, std: 1 / Math.sqrt(rows_) }
}
