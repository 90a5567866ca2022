/** @file The public face of kernel/: hot loops in WebAssembly and the memories they work on. */
export * from './accessor.ts'
export * from './dense.ts'
export * from './load.ts'
export * from './reduce.ts'
export * from './rules.ts'
export * from './segment.ts'
export * from './text.ts'
export * from './workspace.ts'
