/**
 * @file Optimizers, schedules and clipping as plain data, and their reference arithmetic.
 * Knows nothing of where weights lie or who applies a step.
 */
export { amongCopies, timesRate } from './among-copies.ts'
export * from './optimizer.ts'
export * from './schedule.ts'
