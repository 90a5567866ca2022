/** @file The public face of params/. */
export * from './dense-block.ts'
export * from './dense-text.ts'
export * from './init.ts'
export * from './local.ts'
export * from './paddle-model.ts'
export * from './paddle-order.ts'
export * from './paddle-vars.ts'
export * from './params.ts'
