/** @file The public face of model/. */
export { checkAgreement } from './agreement.ts'
export * from './contract.ts'
export { type Dygraph, openDygraph } from './dygraph.ts'
export { loadModel } from './load.ts'
export * from './metrics.ts'
export * from './mode.ts'
export { declaredSlots, metricFetches, metricSpec, type TracedModel, traceModel } from './trace.ts'
