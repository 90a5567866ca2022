/** @file The models of the accuracy table, as models/ has them, sized so that a run takes seconds. */
import { loadConfig } from '../../src/base/config/index.ts'
import { ortEngine, type Session } from '../../src/graph/engine/index.ts'
import { loadModel, type TracedModel } from '../../src/model/index.ts'
import { optimizer } from '../../src/weights/optim/index.ts'
import { at } from '../tools.ts'
import { WIDE } from './samples.ts'

export const MODELS = ['dnn', 'deepfm', 'dcn_v2', 'din', 'mmoe'] as const
export type ModelName = (typeof MODELS)[number]
export const OPTIMIZERS = ['own', 'sgd', 'adagrad', 'adam', 'adam-fast'] as const
export type OptimizerName = (typeof OPTIMIZERS)[number]

/** The keys that differ from config.yaml. */
const HYPER: Readonly<Record<ModelName, readonly string[]>> = {
  dnn: ['fc_sizes=[128,64,32]'],
  deepfm: ['fc_sizes=[128,128,128]'],
  dcn_v2: ['fc_sizes=[128,64]'],
  din: ['learning_rate_base_lr=0.3'].map((item) => `optimizer.${item}`),
  mmoe: [`feature_size=${WIDE}`],
}

/** In place of a model's own optimizer, at rates at which each trains well in one process. */
const INSTEAD = {
  sgd: optimizer.sgd({ learningRate: 0.3 }),
  adagrad: optimizer.adagrad({ learningRate: 0.03, initialAccumulator: 0.01 }),
  adam: optimizer.adam({ learningRate: 0.001, lazy: true }),
  /** Nearer to the largest rate that trains at all: what is brought in too often or too late shows sooner. */
  'adam-fast': optimizer.adam({ learningRate: 0.004, lazy: true }),
} as const

export interface OpenedModel {
  readonly model: TracedModel
  readonly sessions: { readonly train: Session; readonly infer: Session }
}

export async function openModel(name: ModelName, rule: OptimizerName = 'own'): Promise<OpenedModel> {
  const path = at('models', name === 'mmoe' ? 'multitask' : 'rank', name, 'config.yaml')
  const traced = await loadModel(loadConfig({ path, overrides: HYPER[name].map((item) => `hyper_parameters.${item}`) }))
  const { clip } = traced.optimizer
  const model = rule === 'own' ? traced : { ...traced, optimizer: { ...INSTEAD[rule], ...(clip && { clip }) } }
  const engine = ortEngine()
  return { model, sessions: { train: await engine.compile(model.train), infer: await engine.compile(model.infer) } }
}
