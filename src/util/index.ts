/** @file The public face of util/: no knowledge of the product. */
export * from './blamed.ts'
export * from './errors.ts'
export * from './hash.ts'
export * from './rng.ts'
export * from './suggest.ts'
export * from './user-module.ts'
