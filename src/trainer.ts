/**
 * @file `oarfish/trainer`: what a trainer_config.ts and data providers of PaddlePaddle's first trainer are written in. It names files
 * instead of the folder, so that a thread that reads samples loads no trainer beside them.
 */
import type { PassPredictor, PassPredictorOptions } from './paddle/paddle-v1/predictor.ts'

export {
  addtoLayer,
  classificationCost,
  concatLayer,
  cosSim,
  dataLayer,
  type EmbeddingLayerOptions,
  embeddingLayer,
  type FcLayerOptions,
  fcLayer,
  type LayerOutput,
  outputs,
  type PoolingLayerOptions,
  type PoolingType,
  poolingLayer,
  regressionCost,
  type TextConvPoolOptions,
  textConvPool,
} from './paddle/paddle-v1/layers.ts'
export type { PassPredictor, PassPredictorOptions } from './paddle/paddle-v1/predictor.ts'
export {
  type Cache,
  CacheType,
  type DataProvider,
  denseVector,
  type InputType,
  type InputTypes,
  integerValue,
  integerValueSequence,
  type ProvidedSample,
  type ProviderOptions,
  type ProviderSettings,
  provider,
  sparseBinaryVector,
  sparseFloatVector,
} from './paddle/paddle-v1/provider.ts'
export { defineDataSources, getConfigArg, settings, type TrainerSettings } from './paddle/paddle-v1/settings.ts'

/**
 * Opens a saved pass to ask the network of a trainer_config.ts in this process.
 *
 * @example
 * const predictor = await openPassPredictor({ config: 'trainer_config.ts', model: 'output/pass-00009' })
 * const { prediction } = await predictor.predict([[1193, 661]])
 */
export async function openPassPredictor(options: PassPredictorOptions): Promise<PassPredictor> {
  const { openPassPredictor: open } = await import('./paddle/paddle-v1/index.ts')
  return await open(options)
}
