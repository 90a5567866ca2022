/** @file Traces a model into programs: the training step with its gradients, and the evaluation. */
import { backward, inference } from '../autodiff/index.ts'
import type { Slot } from '../data/index.ts'
import type { MetricSpec } from '../metric/index.ts'
import type { SparseSlot } from '../nn/index.ts'
import type { OptimizerSpec } from '../optim/index.ts'
import { Builder, cast, type Program, type Tensor } from '../program/index.ts'
import { UserError } from '../util/index.ts'
import type { Feeds, Metric, ModelOptimizer, NetOutput, StaticModel } from './contract.ts'

/** A traced model: plain data that crosses threads. */
export interface TracedModel {
  readonly slots: readonly Slot[]
  /** Forward and backward; fetches `loss`, metric inputs and `grad:<name>`. */
  readonly train: Program
  /** Forward only, as `isInfer` builds it; fetches `loss`, metric inputs and the model's outputs. */
  readonly infer: Program
  readonly metrics: readonly MetricSpec[]
  readonly outputs: readonly string[]
  readonly optimizer: OptimizerSpec
  readonly tableOptimizers: Readonly<Record<string, OptimizerSpec>>
}

export function traceModel(model: StaticModel): TracedModel {
  const train = traceNet(model, false)
  const infer = traceNet(model, true)
  return {
    slots: train.slots,
    train: backward(train.program, 'loss'),
    infer: inference(
      infer.program,
      infer.program.fetches.map(({ name }) => name).filter((name) => !name.startsWith('state:')),
    ),
    metrics: infer.metrics,
    outputs: infer.outputs,
    ...splitOptimizer(model.createOptimizer()),
  }
}

/** The inputs that a model declares, without building its net. */
export function declaredSlots(model: StaticModel): readonly Slot[] {
  const slots: Slot[] = []
  model.createFeeds(feedsOf(new Builder(), slots), false)
  return slots
}

function traceNet(model: StaticModel, isInfer: boolean) {
  const builder = new Builder()
  const slots: Slot[] = []
  const inputs = model.createFeeds(feedsOf(builder, slots), isInfer)
  const { loss, metrics = {}, outputs = {} } = model.net(inputs, isInfer)
  if (loss.shape.length > 0) {
    throw new UserError(`the loss has shape [${loss.shape.join(', ')}]; it must be a scalar`, {
      code: 'MODEL_LOSS',
      hint: 'return { loss: mean(cost) } from net()',
    })
  }
  const measured = metricFetches({ loss, metrics })
  const program = builder.build({ loss, ...measured.fetches, ...outputs })
  return { program, slots, metrics: measured.specs, outputs: Object.keys(outputs) }
}

function feedsOf(builder: Builder, slots: Slot[]): Feeds {
  const dense = (name: string, width: number, dtype: 'float32' | 'int64' = 'float32'): Tensor => {
    slots.push({ kind: 'dense', name, width, dtype })
    return builder.feed(name, ['B', width], dtype)
  }
  return {
    dense,
    label: (name) => dense(name, 1, 'int64'),
    sparse(name): SparseSlot {
      slots.push({ kind: 'sparse', name })
      return { kind: 'sparse', name, builder }
    },
  }
}

/** Metric inputs as fetches under names of their own; labels as float32, which the histogram kernel reads. */
function metricFetches({ metrics = {} }: NetOutput): { fetches: Record<string, Tensor>; specs: MetricSpec[] } {
  const fetches: Record<string, Tensor> = {}
  const specs = Object.entries(metrics).map(([name, item]: [string, Metric]): MetricSpec => {
    if (item.kind === 'mean') {
      fetches[`metric:${name}`] = item.value
      return { kind: 'mean', name, value: `metric:${name}` }
    }
    fetches[`metric:${name}.prediction`] = item.prediction
    fetches[`metric:${name}.label`] = item.label.dtype === 'float32' ? item.label : cast(item.label, 'float32')
    return { kind: 'auc', name, prediction: `metric:${name}.prediction`, label: `metric:${name}.label` }
  })
  return { fetches, specs }
}

function splitOptimizer(own: ModelOptimizer): Pick<TracedModel, 'optimizer' | 'tableOptimizers'> {
  return 'dense' in own
    ? { optimizer: own.dense, tableOptimizers: own.tables }
    : { optimizer: own, tableOptimizers: {} }
}
