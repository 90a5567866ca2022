/** @file The public face of model/. */
export { checkAgreement } from './agreement.ts'
export * from './contract.ts'
export { loadModel } from './load.ts'
export * from './trace.ts'
