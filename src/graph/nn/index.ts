/**
 * @file Layers as functions on the builder and as objects that own their weights, and losses.
 * Knows nothing of training: what it makes is a graph. Imports program/ only.
 */
export * from './activation.ts'
export * from './attention.ts'
export * from './blocks.ts'
export * from './capsule.ts'
export * from './class-scores.ts'
export * from './cross.ts'
export * from './embedding.ts'
export * from './experts.ts'
export * from './field-pairs.ts'
export * from './gated-graph.ts'
export * from './hstu.ts'
export * from './interaction.ts'
export * from './interval-attention.ts'
export * from './layer.ts'
export * from './layers.ts'
export * from './linear.ts'
export * from './loss.ts'
export * from './negatives.ts'
export * from './next-item.ts'
export * from './normalization.ts'
export {
  AuGru,
  Gru,
  gru,
  Lstm,
  lstm,
  type RecurrentLayerOptions,
  type RecurrentOptions,
  type RecurrentResult,
} from './recurrent.ts'
export { nce, type SampledOptions, sampledSoftmax } from './sampled-loss.ts'
export {
  type AttentionOptions,
  type Conv1dOptions,
  conv1d,
  dotProductAttention,
  maskedMax,
  maskedMean,
  maxPool1d,
  type PlaceEmbeddingOptions,
  placeEmbedding,
  positions,
} from './sequence.ts'
export { continuousValueModel, type SparseEmbeddingOptions, sparseEmbedding } from './sparse-embedding.ts'
