/** @file The public face of params/. */
export * from './dense-block.ts'
export * from './init.ts'
export * from './local.ts'
export * from './params.ts'
