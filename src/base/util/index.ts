/**
 * @file Errors, days, random numbers, hashes, shell words, bytes, where this package's files and a process's temporary ones are.
 * Knows nothing of the product.
 */
export * from './bytes.ts'
export * from './days.ts'
export * from './debug-nan.ts'
export * from './defined.ts'
export * from './errors.ts'
export * from './koffi.ts'
export * from './options.ts'
export * from './own-temp.ts'
export * from './package-file.ts'
export * from './printable.ts'
export * from './process-place.ts'
export * from './process-start.ts'
export * from './rng.ts'
export * from './shell-word.ts'
export * from './suggest.ts'
export * from './system-limit.ts'
export * from './threads.ts'
export * from './user-code.ts'
export * from './user-mistake.ts'
export * from './within.ts'
