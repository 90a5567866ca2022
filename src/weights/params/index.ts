/**
 * @file Where weights live: the interface pull and push, the row store and dense block behind it, here in local memory.
 * Knows nothing of sockets, threads or graphs: a batch's signs and gradients come in.
 */
export * from './dense-block.ts'
export * from './dense-layout.ts'
export * from './dense-text.ts'
export * from './init.ts'
export * from './link-count.ts'
export * from './local.ts'
export * from './paddle-model.ts'
export * from './paddle-order.ts'
export * from './paddle-vars.ts'
export * from './params.ts'
export * from './row-store.ts'
export * from './tiers.ts'
