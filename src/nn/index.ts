/** @file The public face of nn/: layers, blocks and losses as functions on tensors. */
export * from './activation.ts'
export * from './embedding.ts'
export * from './linear.ts'
export * from './loss.ts'
