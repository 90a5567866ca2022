/**
 * @file The parameter server: placement of rows, the protocol, servers, and how a trainer thread reaches them in each mode.
 * Knows nothing of epochs, passes or readers: it pulls and pushes what it is given.
 */
export { type AskedTask, askServers, numbersOf } from './ask-servers.ts'
export { filesDiffer } from './errors.ts'
export { serverExchange } from './exchange.ts'
export {
  countsOf,
  gatherCounts,
  gatherDense,
  gatherDigest,
  gatherParams,
  gatherRows,
  gatherTables,
  scatterDense,
  scatterParams,
  scatterRows,
  scatterTables,
  serverRows,
} from './gather.ts'
export { ADDING } from './geo-changes.ts'
export { GeoExchange, type GeoExchangeOptions } from './geo-exchange.ts'
export { GeoParams } from './geo-params.ts'
export { createCopy, geoServerRules } from './geo-rules.ts'
export { HotRowsParams } from './hot-params.ts'
export { HotRows, joinHot, MOST_HOT, SAMPLED } from './hot-rows.ts'
export type { InspectAnswer, InspectRequest, RowReport, ServerReport, TableReport } from './inspect.ts'
export { type InspectOptions, inspectHot, inspectServer, type PlainAnswer } from './inspect-client.ts'
export type { JobHotReport } from './inspect-hot.ts'
export { identityOf, isHybrid, jobIdentity, psMode, shardsOf, warnOfToken, withRunner } from './job.ts'
export { KernelStore } from './kernel-store.ts'
export { batchesInStep, largeStepText, scaledModel } from './large-steps.ts'
export { type Claim, type PlaceRun, placesOfRuns, runsOfPlaces } from './ledger.ts'
export {
  type DenseFilesOptions,
  loadDenseFiles,
  loadTables,
  type PaddleFilesOptions,
  type SaveTablesOptions,
  saveDenseFiles,
  saveTables,
  settleTables,
  shrinkTables,
} from './paddle-files.ts'
export { encodeJoin, encodeTurn, METHODS } from './protocol.ts'
export { RecentRows } from './recent-rows.ts'
export {
  counted,
  type GeoParamsHandle,
  openRemoteParams,
  type RemoteParamsHandle,
  serveThread,
  type ThreadLinks,
} from './remote-handle.ts'
export { type Call, RemoteParams } from './remote-params.ts'
export { updatesOf } from './repeated-rows.ts'
export { readChunk, readPace } from './rules.ts'
export { type RunServerOptions, runServer } from './run-server.ts'
export { type OpenStoreOptions, openStore, type ServeStoreOptions, serveStore } from './serve-model.ts'
export { type ServeWorkersOptions, serveWorkers, type WorkerService } from './serve-workers.ts'
export { ParameterServer, type ParameterServerOptions, PS_MODES, type PsMode } from './server.ts'
export { ServerGroup, type ServerGroupOptions } from './server-group.ts'
export { SignPlaces } from './sign-places.ts'
export type { DenseState, RowBlock } from './store.ts'
export { type TableTask, type TableTaskAnswer, TableTasks } from './table-tasks.ts'
export { openThreadLink, type ThreadLinkOptions } from './thread-link.ts'
export { type Touched, TouchedParams } from './touched.ts'
export { type Update, UpdateLog } from './update-log.ts'
export { WiredParams, type WireLayout } from './wired-params.ts'
