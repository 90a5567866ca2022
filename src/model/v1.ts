/** @file The class `Model` of PaddleRec 1.x as a StaticModel: what it leaves out follows from the config's slots and optimizer. */
import { configErrorAt, type LoadedConfig } from '../base/config/index.ts'
import { suggest, UserError } from '../base/util/index.ts'
import { type OptimizerSpec, optimizer } from '../weights/optim/index.ts'
import type { Feeds, ModelModule, ModelV1, SlotInputs, StaticModel } from './contract.ts'

export function staticModelOf(
  Model: NonNullable<ModelModule['Model']>,
  values: unknown,
  loaded: LoadedConfig,
): StaticModel {
  const model = new (Model as new (values: unknown) => ModelV1)(values)
  return {
    createFeeds: (feeds, isInfer) => model.inputData?.(feeds, isInfer) ?? slotInputs(feeds, loaded),
    net: (inputs, isInfer) => model.net(inputs as SlotInputs, isInfer),
    createOptimizer: () => model.optimizer?.() ?? configuredOptimizer(values, loaded),
  }
}

/** Dense slots first, then sparse, each in the order of the config: the order that MultiSlot text has. */
function slotInputs({ label, sparse, dense }: Feeds, { config }: LoadedConfig): SlotInputs {
  const { sparse: names = [], dense: wide = [] } = config.dataset?.slots ?? {}
  const [first, ...others] = names
  if (first === undefined) {
    throw new UserError('class Model has no inputData, and the dataset has no sparse_slots to make inputs from', {
      code: 'MODEL_CONTRACT',
      hint: 'set sparse_slots and dense_slots of the dataset, or write inputData(feeds) { return { x: feeds.dense("x", 13) } }',
    })
  }
  const denseInputs = Object.fromEntries(wide.map(({ name, width }) => [name, dense(name, width)]))
  return {
    dense: denseInputs,
    label: label(first),
    sparse: Object.fromEntries(others.map((name) => [name, sparse(name)])),
  }
}

const OPTIMIZERS: Readonly<Record<string, (learningRate: number) => OptimizerSpec>> = {
  sgd: (learningRate) => optimizer.sgd({ learningRate }),
  adam: (learningRate) => optimizer.adam({ learningRate, lazy: true }),
  adagrad: (learningRate) => optimizer.adagrad({ learningRate }),
}

/** What the 1.x base class makes of `hyper_parameters.optimizer`. */
function configuredOptimizer(values: unknown, loaded: LoadedConfig): OptimizerSpec {
  const own = (values as { optimizer?: { class?: unknown; learning_rate?: unknown } } | undefined)?.optimizer ?? {}
  const name = String(own.class ?? 'SGD')
  const make = OPTIMIZERS[name.toLowerCase()]
  const rate = Number(own.learning_rate)
  const key = 'hyper_parameters.optimizer'
  if (!make) {
    const message = `configured optimizer can only supported SGD/Adam/Adagrad, got "${name}"`
    throw configErrorAt(loaded, `${key}.class`, message, suggest(name, ['SGD', 'Adam', 'Adagrad']) ?? 'Adam')
  }
  if (!(rate > 0)) throw configErrorAt(loaded, `${key}.learning_rate`, 'expected a number above 0', 0.001)
  return make(rate)
}
