/**
 * @file Dynamic graphs: a step recorded op by op, and the cache of what was compiled for it.
 * Knows nothing of models or engines: who opens a trace computes its values.
 */
export * from './cache.ts'
export * from './trace.ts'
