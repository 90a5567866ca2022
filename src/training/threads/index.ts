/**
 * @file What one pass runs on: readers, the pool of trainer threads, the thread itself, and what is measured.
 * Knows nothing of epochs, checkpoints or other processes: hooks are handed in.
 */
export {
  checkData,
  type DataFiles,
  findDataFiles,
  type Input,
  inputKind,
  inputOf,
  readerThreads,
  readFirstSamples,
  shuffleOf,
  slotsInData,
} from './input.ts'
export { ENGINES, type EngineName, type Phase } from './messages.ts'
export { mergeMeters, type PlainMeter, plainMeter } from './meter.ts'
export {
  beginningOf,
  goOn,
  type PassHooks,
  type PassOptions,
  type PassResult,
  type PassStart,
  type PassSum,
} from './pass.ts'
export { createParams, type PassChanges, type PassInput, Runtime, type RuntimeOptions } from './runtime.ts'
export type { StepReport, TrainerPoolOptions } from './trainer-pool.ts'
