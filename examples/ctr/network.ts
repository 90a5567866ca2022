/** @file The CTR model of the programs in this folder: embeddings of 26 sparse slots beside 13 dense values, then a DNN. */
import * as fluid from 'oarfish/fluid'

export const denseFeatureDim = 13

/** The loss, the AUC over all batches, and the AUC over the last 20. */
export function ctrDnnModelDataset(
  denseInput: fluid.Variable,
  sparseInputs: readonly fluid.Variable[],
  label: fluid.Variable,
  embeddingSize: number,
  sparseFeatureDim: number,
): readonly [loss: fluid.Variable, aucVar: fluid.Variable, batchAucVar: fluid.Variable] {
  const embeddingLayer = (input: fluid.Variable) => {
    const emb = fluid.layers.embedding({
      input,
      isSparse: true,
      size: [sparseFeatureDim, embeddingSize],
      paramAttr: fluid.ParamAttr({ name: 'SparseFeatFactors', initializer: fluid.initializer.Uniform() }),
    })
    return fluid.layers.sequencePool({ input: emb, poolType: 'average' })
  }
  const fcLayer = (input: fluid.Variable, size: number, act: 'relu' | 'softmax') => {
    const scale = 1 / Math.sqrt(input.shape[1]!)
    const paramAttr = fluid.ParamAttr({ initializer: fluid.initializer.Normal({ scale }) })
    return fluid.layers.fc({ input, size, act, paramAttr })
  }

  const sparseEmbedSeq = sparseInputs.map(embeddingLayer)
  const concated = fluid.layers.concat({ input: [...sparseEmbedSeq, denseInput], axis: 1 })
  const fc1 = fcLayer(concated, 400, 'relu')
  const fc2 = fcLayer(fc1, 400, 'relu')
  const fc3 = fcLayer(fc2, 400, 'relu')
  const predict = fcLayer(fc3, 2, 'softmax')

  const cost = fluid.layers.crossEntropy({ input: predict, label })
  const avgCost = fluid.layers.reduceSum({ input: cost })
  const [aucVar, batchAucVar] = fluid.layers.auc({ input: predict, label, numThresholds: 2 ** 12, slideSteps: 20 })
  return [avgCost, aucVar, batchAucVar]
}
