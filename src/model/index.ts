/** @file The public face of model/. */
export * from './contract.ts'
export * from './load.ts'
export * from './trace.ts'
