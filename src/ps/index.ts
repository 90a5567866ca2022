/** @file The public face of ps/: parameter servers and how workers reach them. */

export { filesDiffer } from './errors.ts'
export { gatherDense, gatherDigest, gatherRows, scatterDense, scatterRows } from './gather.ts'
export { jobIdentity, psMode, shardsOf } from './job.ts'
export { KernelStore } from './kernel-store.ts'
export * from './placement.ts'
export { METHODS } from './protocol.ts'
export { openRemoteParams, type RemoteParamsHandle, serveThread } from './remote-handle.ts'
export { type Call, RemoteParams } from './remote-params.ts'
export { type RunServerOptions, runServer } from './run-server.ts'
export { ParameterServer, type ParameterServerOptions, PS_MODES, type PsMode } from './server.ts'
export { ServerGroup, type ServerGroupOptions } from './server-group.ts'
