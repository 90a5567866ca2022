/** @file Loads a trainer_config.ts: runs it, and makes of what it described a model that can be trained or asked. */
import { backward, inference } from '../../graph/autodiff/index.ts'
import { add, mean, mul, type Tensor } from '../../graph/program/index.ts'
import { metricFetches, type TracedModel } from '../../model/index.ts'
import { optimizer } from '../../weights/optim/index.ts'
import type { ConfigUnderWay, DataLayer, DataSources } from './config-scope.ts'
import { configError } from './errors.ts'
import { runConfig } from './run-config.ts'
import { typedInputs } from './samples.ts'

export interface TrainerConfig {
  readonly model: TracedModel
  /** Of each node. */
  readonly batchSize: number
  readonly sources: DataSources | undefined
  readonly layers: readonly DataLayer[]
  /** For the network of a cost; one for prediction has none. */
  readonly trains: boolean
}

/** The metric that is the mean cost of a sample. */
export const COST = 'cost'

/** `nodes` take part in each step: gradients are for the sum over all of their samples, as the original's are. */
export async function loadTrainerConfig(path: string, configArgs: string, nodes = 1): Promise<TrainerConfig> {
  return traceConfig(await runConfig(path, configArgs), nodes)
}

export function traceConfig(config: ConfigUnderWay, nodes = 1): TrainerConfig {
  const { builder, outputs, sources } = config
  const costs = outputs.filter(({ kind }) => kind === 'cost')
  const layers = [...config.data.values()]
  if (outputs.length === 0)
    throw configError('The configuration has no outputs.', 'outputs(regressionCost({ input, label }))')
  if (sources) typedInputs(layers, sources.provider.open(sources.args).inputTypes)
  const shared = { batchSize: config.settings?.batchSize ?? 1, sources, layers }
  const common = {
    slots: config.slots,
    optimizer: config.settings?.optimizer ?? optimizer.sgd(),
    tableOptimizers: {},
  }
  if (costs.length === 0) {
    const names = outputs.map(({ name }) => name)
    const built = builder.build(Object.fromEntries(outputs.map(({ name, tensor }) => [name, tensor])))
    const program = inference(built, names)
    return {
      ...shared,
      model: { ...common, train: program, infer: program, metrics: [], outputs: names },
      trains: false,
    }
  }
  if (!config.settings)
    throw configError('The configuration has no settings.', 'settings({ batchSize: 1600, learningRate: 1e-3 })')
  const cost = mean(costs.map(({ tensor }) => tensor).reduce((total: Tensor, one) => add(total, one)))
  const { fetches, specs } = metricFetches({ metrics: { [COST]: { kind: 'mean', value: cost } } })
  const built = builder.build({ loss: mul(cost, config.settings.batchSize * nodes), ...fetches })
  const model = {
    ...common,
    train: backward(built, 'loss'),
    infer: inference(built, ['loss', ...Object.keys(fetches)]),
    metrics: specs,
    outputs: [],
  }
  return { ...shared, model, trains: true }
}
