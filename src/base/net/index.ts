/**
 * @file Frames between processes: transports, handshake, requests with deadlines, heartbeats, shared memory.
 * Knows nothing of what the frames mean.
 */
export * from './connect.ts'
export * from './credentials.ts'
export * from './errors.ts'
export * from './handshake.ts'
export { Liveness, REQUEST_TIMEOUT_MS } from './liveness.ts'
export * from './message.ts'
export { reachableAddress } from './own-address.ts'
export * from './peer.ts'
export * from './pulse.ts'
export { SharedConnection, sharedBytes } from './shared-connection.ts'
export * from './shared-memory.ts'
export { socketTransport, splitEndpoint } from './socket.ts'
export { Strangers } from './strangers.ts'
export { openTls, readServerKeys, type TlsFiles, type TlsKeys, type TlsSetting } from './tls-keys.ts'
export * from './transport.ts'
