/** @file The public face of nn/: layers, blocks and losses as functions on tensors. */
export * from './activation.ts'
export * from './attention.ts'
export * from './class-scores.ts'
export * from './cross.ts'
export * from './embedding.ts'
export * from './experts.ts'
export * from './layer.ts'
export * from './layers.ts'
export * from './linear.ts'
export * from './loss.ts'
export * from './negatives.ts'
export * from './normalization.ts'
export * from './pairs.ts'
export { gru, lstm, type RecurrentOptions, type RecurrentResult } from './recurrent.ts'
export * from './recurrent-layers.ts'
export { nce, type SampledOptions, sampledSoftmax } from './sampled-loss.ts'
export {
  type AttentionOptions,
  type Conv1dOptions,
  conv1d,
  dotProductAttention,
  maskedMax,
  maskedMean,
} from './sequence.ts'
export * from './towers.ts'
