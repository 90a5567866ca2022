/**
 * @file Hot loops in WebAssembly, the memories they work on, and the plain versions they are tested against.
 * Knows nothing of tables or models: numbers and addresses.
 */
export * from './accessor.ts'
export * from './dense.ts'
export * from './half.ts'
export * from './load.ts'
export * from './log.ts'
export * from './nearest.ts'
export * from './reduce.ts'
export * from './row-weights.ts'
export * from './rules.ts'
export * from './runs.ts'
export * from './segment.ts'
export * from './text.ts'
export * from './workspace.ts'
