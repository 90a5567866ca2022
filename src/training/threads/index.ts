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
  openFirstReader,
  readerThreads,
  readFirstSamples,
  shuffleOf,
  slotsInData,
} from './input.ts'
export { ENGINES, type EngineName, type Phase } from './messages.ts'
export { mergeMeters, type PlainMeter, plainMeter, reportFields } from './meter.ts'
export {
  beginningOf,
  goOn,
  nothingTrained,
  type PassHooks,
  type PassOptions,
  type PassResult,
  type PassStart,
  type PassSum,
} from './pass.ts'
export { RowTiers } from './row-tiers.ts'
export { createParams, type PassChanges, type PassInput, Runtime, type RuntimeOptions } from './runtime.ts'
export type { StepReport, TrainerPoolOptions } from './trainer-pool.ts'
