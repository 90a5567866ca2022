/** @file The public face of nn/: layers, blocks and losses as functions on tensors. */
export * from './activation.ts'
export * from './embedding.ts'
export * from './linear.ts'
export * from './loss.ts'
export * from './normalization.ts'
export * from './recurrent.ts'
export * from './sampled-loss.ts'
export { type AttentionOptions, type Conv1dOptions, conv1d, dotProductAttention, maskedMean } from './sequence.ts'
