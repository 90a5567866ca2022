/**
 * @file Passes of the GPU parameter server: a pass's rows are copied out of the host's tables, trained elsewhere and written back.
 * Knows nothing of epochs, checkpoints or the graph: samples in memory and tables come in.
 */
export { estimate, type Growth, type PassLimits, planPasses, sampleGrowth } from './forecast.ts'
export {
  type BegunPass,
  createSides,
  type EndedPass,
  type LoadedSamples,
  PassCycle,
  type PassSamples,
  type ReadyPass,
  type TableRows,
} from './pass-cycle.ts'
export { PassReader } from './pass-reader.ts'
export { hostPassRows, type Moved, type PassHandle, type PassRows, type Side } from './pass-rows.ts'
export { PrepareThreads } from './prepare-threads.ts'
export { SignCollector, slotTables } from './sign-collector.ts'
