/** @file The public face of table/. */
export * from './digest.ts'
export * from './table.ts'
