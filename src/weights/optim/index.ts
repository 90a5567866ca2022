/**
 * @file Optimizers, schedules and clipping as plain data, and their reference arithmetic.
 * Knows nothing of where weights lie or who applies a step.
 */

export * from './optimizer.ts'
export * from './schedule.ts'
export { stateDecays } from './state-decays.ts'
export { timesRate } from './times-rate.ts'
