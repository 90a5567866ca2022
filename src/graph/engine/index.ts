/**
 * @file What runs a program: onnxruntime, the exact reference in plain loops, and one that computes nothing.
 * Knows nothing of tables, readers or optimizers: buffers go in and come out by name.
 */
export { DATA_ARRAYS } from './buffers.ts'
export * from './engine.ts'
export { type ModelInput, type ModelSession, openModel } from './model-session.ts'
export { nullEngine } from './null.ts'
export { ortEngine } from './ort.ts'
export { firstNotFinite, type NotFinite, referenceEngine } from './reference.ts'
export { openTableSession, type TableSession, type TypedView } from './table-session.ts'
