/** @file Traces a model into programs: the training step with its gradients, and the evaluation. */

import { refuseOptions, shown, UserError, userPlace, type Where } from '../base/util/index.ts'
import type { Slot } from '../data/index.ts'
import { backward, inference } from '../graph/autodiff/index.ts'
import type { SparseSlot } from '../graph/nn/index.ts'
import { Builder, cast, ownFetches, type Program, type Tensor } from '../graph/program/index.ts'
import type { MetricSpec } from '../weights/metric/index.ts'
import type { OptimizerSpec } from '../weights/optim/index.ts'
import type {
  CrossOptions,
  DenseOptions,
  DygraphSource,
  Feeds,
  ModelOptimizer,
  NetOutput,
  StaticModel,
} from './contract.ts'
import {
  bucketsOf,
  checkCrosses,
  type DeclaredCross,
  type DenseFeature,
  FEATURES,
  type SparseFeature,
} from './features.ts'
import type { Metric } from './metrics.ts'
import { setSampleWeight, weighedLoss } from './sample-weight.ts'
import { isTensor, type TracedVectors, traceVectors } from './vectors.ts'

/** A traced model: plain data that crosses threads. */
export interface TracedModel {
  readonly slots: readonly Slot[]
  /** Forward and backward; fetches `loss`, metric inputs and `grad:<name>`. */
  readonly train: Program
  /** Forward only, as `isInfer` builds it; fetches `loss`, metric inputs and the model's outputs. */
  readonly infer: Program
  readonly metrics: readonly MetricSpec[]
  readonly outputs: readonly string[]
  /** Of a model that says what recall compares. */
  readonly vectors?: TracedVectors | undefined
  readonly optimizer: OptimizerSpec
  readonly tableOptimizers: Readonly<Record<string, OptimizerSpec>>
  /** Of a dynamic model: every step is traced anew by the thread that runs it; `train` and `infer` hold no ops. */
  readonly dygraph?: DygraphSource | undefined
  /** createOptimizer has wrapped its optimizer for a collective job. @default false */
  readonly distributed?: boolean | undefined
}

export function traceModel(model: StaticModel, strategy?: unknown): TracedModel {
  const train = traceNet(model, false)
  const infer = traceNet(model, true)
  return {
    slots: train.slots,
    train: backward(train.program, 'loss'),
    infer: inference(
      infer.program,
      ownFetches(infer.program).map(({ name }) => name),
    ),
    metrics: infer.metrics,
    outputs: infer.outputs,
    vectors: infer.vectors,
    ...splitOptimizer(model.createOptimizer(strategy)),
  }
}

/** The inputs that a model declares, without building its net. */
export function declaredSlots(model: { createFeeds(feeds: Feeds, isInfer: boolean): unknown }): readonly Slot[] {
  const slots: Slot[] = []
  const crosses: DeclaredCross[] = []
  model.createFeeds(feedsOf(new Builder(), slots, crosses), false)
  checkCrosses(slots, crosses)
  return slots
}

export function traceNet(model: StaticModel, isInfer: boolean) {
  const builder = new Builder()
  const slots: Slot[] = []
  const crosses: DeclaredCross[] = []
  const inputs = model.createFeeds(feedsOf(builder, slots, crosses), isInfer)
  checkCrosses(slots, crosses)
  const { loss: own, metrics = {}, outputs = {}, vectors } = model.net(inputs, isInfer)
  const loss = weighedLoss(own)
  checkLoss(loss, 'net()')
  const measured = metricFetches({ metrics })
  const program = builder.build({ loss, ...measured.fetches, ...outputs })
  return {
    program,
    slots,
    metrics: measured.specs,
    outputs: Object.keys(outputs),
    vectors: vectors && isInfer ? traceVectors(vectors, builder) : undefined,
  }
}

export function checkLoss({ shape }: Tensor, from: string, where?: Where): void {
  if (shape.length === 0) return
  throw new UserError(`the loss has shape [${shape.join(', ')}]; it must be a scalar`, {
    code: 'MODEL_LOSS',
    where,
    hint: `return { loss: mean(cost) } from ${from}`,
  })
}

const isFeature = (value: unknown): value is Exclude<SparseFeature | DenseFeature, never> =>
  typeof value === 'object' && value !== null && 'kind' in value

export function feedsOf(builder: Builder, slots: Slot[], crosses: DeclaredCross[] = []): Feeds {
  const dense: Feeds['dense'] = (name, width, options = {}) => {
    if (isFeature(options)) {
      slots.push({ kind: 'dense', name, width, dtype: 'float32', feature: { ...options, from: options.from ?? name } })
      return builder.feed(name, ['B', width], 'float32')
    }
    const {
      dtype = 'float32',
      aliases,
      required,
    }: DenseOptions = typeof options === 'string' ? { dtype: options } : options
    slots.push({ kind: 'dense', name, width, dtype, aliases, required })
    return builder.feed(name, ['B', width], dtype)
  }
  return {
    dense,
    sampleWeight(name, options) {
      const weight = dense(name, 1, options)
      setSampleWeight(builder, weight)
      return weight
    },
    label: (name, options) => dense(name, 1, { ...options, dtype: 'int64' }),
    sparse(name, options = {}): SparseSlot {
      if (isFeature(options)) slots.push({ kind: 'sparse', name, feature: { ...options, from: options.from ?? name } })
      else slots.push({ kind: 'sparse', name, required: options.required })
      return { kind: 'sparse', name, builder }
    },
    cross(...given): SparseSlot {
      const of = given.slice(0, -1) as string[]
      const { hash, name = of.join('_x_'), ...unknown } = given.at(-1) as CrossOptions
      refuseOptions('cross', unknown, { hash: true, name: true })
      slots.push({ kind: 'sparse', name, feature: { kind: 'cross', of, buckets: bucketsOf('cross', hash) } })
      const place = userPlace(new Error().stack)
      crosses.push({ name: `cross(${of.join(', ')})`, of, place: place && { ...place, file: shown(place.file) } })
      return { kind: 'sparse', name, builder }
    },
    ...FEATURES,
  }
}

/** Metric inputs as fetches under names of their own; labels as float32, which the histogram kernel reads. */
export function metricFetches({ metrics = {} }: Pick<NetOutput, 'metrics'>): {
  fetches: Record<string, Tensor>
  specs: MetricSpec[]
} {
  const fetches: Record<string, Tensor> = {}
  const specs = Object.entries(metrics).flatMap(([name, item]): MetricSpec[] => {
    if (item.kind !== 'report') return [fetchedMetric(name, item, fetches)]
    return Object.entries(item.parts).map(([part, own]) => ({
      ...fetchedMetric(`${name}.${part}`, own, fetches),
      report: { name, part, spec: item.spec },
    }))
  })
  return { fetches, specs }
}

function fetchedMetric(name: string, item: Metric, fetches: Record<string, Tensor>): MetricSpec {
  const fetched = (part: string, tensor: Tensor) => {
    const key = `metric:${name}${part}`
    fetches[key] = tensor
    return key
  }
  if (item.kind === 'mean') return { kind: 'mean', name, value: fetched('', item.value) }
  if (item.kind === 'ratio') {
    const { kind, above, below } = item
    return { kind, name, above: fetched('.above', above), below: fetched('.below', below) }
  }
  const scored = {
    name,
    prediction: fetched('.prediction', item.prediction),
    label: fetched('.label', item.label.dtype === 'float32' ? item.label : cast(item.label, 'float32')),
    weight: item.weight && fetched('.weight', item.weight),
  }
  if (item.kind === 'auc') return { kind: 'auc', ...scored }
  const { group, entries } = item
  const by = isTensor(group)
    ? { kind: 'fetch' as const, name: fetched('.group', group) }
    : { kind: 'slot' as const, name: group.name }
  return { kind: 'grouped', ...scored, by, entries, each: false }
}

/** Of a metric whose fetches are known by its name alone. */
export function metricSpec(name: string, kind: 'auc' | 'mean' | 'ratio'): MetricSpec {
  const key = `metric:${name}`
  if (kind === 'mean') return { kind, name, value: key }
  if (kind === 'ratio') return { kind, name, above: `${key}.above`, below: `${key}.below` }
  return { kind, name, prediction: `${key}.prediction`, label: `${key}.label` }
}

export function splitOptimizer(
  own: ModelOptimizer,
): Pick<TracedModel, 'optimizer' | 'tableOptimizers' | 'distributed'> {
  if (own.kind !== undefined) return { optimizer: own, tableOptimizers: {} }
  return { optimizer: own.dense, tableOptimizers: own.tables, distributed: Object.hasOwn(own, 'strategy') }
}
