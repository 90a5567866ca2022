/** @file The public face of engine/: the seam and its implementations. */
export * from './engine.ts'
export { type ModelInput, type ModelSession, openModel } from './model-session.ts'
export { nullEngine } from './null.ts'
export { type OrtOptions, ortEngine } from './ort.ts'
export { type ReferenceOptions, referenceEngine } from './reference.ts'
