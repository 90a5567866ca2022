/** @file The public face of net/: frames between processes. It does not know what they mean. */
export * from './connect.ts'
export * from './errors.ts'
export { type Faults, faultyTransport } from './faulty.ts'
export * from './hello.ts'
export { memoryTransport } from './memory.ts'
export * from './peer.ts'
export { socketTransport, splitEndpoint } from './socket.ts'
export * from './transport.ts'
