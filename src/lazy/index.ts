/** @file The public face of lazy/. */
export * from './cache.ts'
export * from './trace.ts'
