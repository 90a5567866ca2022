/** @file The public face of train/. */
export { ENGINES, type EngineName } from './messages.ts'
export { type TrainOptions, type TrainResult, train } from './train.ts'
