/**
 * @file A user's model: defineModel and the contracts of its class forms, loading, tracing, checks against data.
 * Knows nothing of weights, threads or servers: what it gives is a TracedModel, plain data.
 */
export { checkAgreement } from './agreement.ts'
export * from './contract.ts'
export * from './define.ts'
export { type Dygraph, openDygraph } from './dygraph.ts'
export { loadModel } from './load.ts'
export * from './metrics.ts'
export * from './mode.ts'
export { type ModelSummary, summarize } from './summary.ts'
export { metricFetches, metricSpec, type TracedModel, traceModel } from './trace.ts'
export { type TracedVectors, VECTOR } from './vectors.ts'
