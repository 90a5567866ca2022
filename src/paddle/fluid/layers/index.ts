/**
 * @file `fluid.layers`: what programs are built of.
 * Each appends to the current program and returns variables; nothing is computed here.
 */
export { type DataOptions, data } from './data.ts'
export {
  cast,
  concat,
  elementwiseAdd,
  elementwiseMul,
  elementwiseSub,
  type FcOptions,
  fc,
  mean,
  type ReduceOptions,
  reduceMean,
  reduceSum,
  relu,
  sigmoid,
  softmax,
  tanh,
} from './dense.ts'
export {
  type EmbeddingOptions,
  embedding,
  type SequencePoolOptions,
  type SparseEmbeddingOptions,
  sequencePool,
  sparseEmbedding,
} from './embedding.ts'
export {
  type AucOptions,
  accuracy,
  auc,
  crossEntropy,
  type LabelledOptions,
  sigmoidCrossEntropyWithLogits,
  softmaxWithCrossEntropy,
  squareErrorCost,
} from './measure.ts'
