/** @file The public face of table/. */
export * from './accessor-config.ts'
export * from './accessor-reference.ts'
export * from './digest.ts'
export * from './entry.ts'
export * from './table.ts'
