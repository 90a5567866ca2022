/** @file serve(): a model behind HTTP. Opens threads, listens, reloads newer exports, and stops without losing a request. */
import { createServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { type Device, openDevice } from '../../base/device/index.ts'
import { processEnv } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { readServerKeys } from '../../base/net/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { UserReaderOptions } from '../../data/index.ts'
import { findExport, locateExport } from '../export/index.ts'
import { Batcher } from './batcher.ts'
import type { Follower } from './follow.ts'
import { openFollowed } from './followed.ts'
import { createHandler } from './handler.ts'
import { openIndexed } from './indexed.ts'
import type { ScorerSettings } from './messages.ts'
import { Metrics } from './metrics.ts'
import { type PoolOptions, ScorerPool } from './pool.ts'
import { reloader } from './reload.ts'
import { watchFolder } from './watch.ts'

/** How a model is served. */
export interface ServingOptions {
  /** An export that may be replaced, or a folder where exports appear by epoch. Either this or `follow`; neither where there is an `index`. */
  readonly model?: string | undefined
  /** The folder (or address of HDFS or S3) where online training publishes: its base, then every delta, in order. */
  readonly follow?: string | undefined
  /** With `follow`: serve this version, `20190720/7`, and stay there. @default the newest */
  readonly at?: string | undefined
  /** With `follow`: the folder where it is noted how far this server is, for the dashboard. @default `followers` in the followed folder, where it may be written to */
  readonly followersDir?: string | undefined
  /** An index that `oarfish index` wrote, which may be replaced, or a folder where indexes appear by epoch: POST /recall finds a user's items. Alone or beside a model. */
  readonly index?: string | undefined
  /** What POST /admin/rollback must be sent, and GET /healthz to name folders. @default the variable OARFISH_ADMIN_TOKEN; without one nobody may */
  readonly adminToken?: string | undefined
  /** The address to listen on; 0.0.0.0 for all. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** Threads that score. @default one less than the cores, at least 1 */
  readonly threads?: number | undefined
  /** How long a request waits for others to be scored with. @default 0 */
  readonly batchWindowMs?: number | undefined
  /** Requests scored together at most. @default 256 */
  readonly maxBatch?: number | undefined
  /** Larger requests are refused. @default 1 MiB */
  readonly maxBodyBytes?: number | undefined
  /** Fills slots that a request lacks as in training, instead of refusing it. @default false */
  readonly fillMissing?: boolean | undefined
  /** Reads text of requests as the model's own reader does. @default slot or MultiSlot text */
  readonly reader?: UserReaderOptions | undefined
  /** PEM file of a certificate: serves HTTPS. With `tlsKey`. @default HTTP */
  readonly tlsCert?: string | undefined
  /** PEM file of its private key. */
  readonly tlsKey?: string | undefined
  /** What computes: a provider that must be there, or gpu for the best of this host, else the CPU. @default 'cpu' */
  readonly device?: 'cpu' | 'webgpu' | 'cuda' | 'gpu' | undefined
  /** How often to look for a newer export or version. @default 1000, and 250 with `follow` */
  readonly pollMs?: number | undefined
}

export interface ServeOptions extends ServingOptions {
  /** 0: any free one. */
  readonly port: number
  readonly emit: EventSink
}

export interface Served {
  readonly url: string
  readonly port: number
  /** Takes no more connections, answers what was asked, then ends; after STOP_MS it ends anyway. */
  close(): Promise<void>
}

const MAX_BODY_BYTES = 1024 * 1024
const MAX_QUEUE = 10_000
const REQUEST_MS = 30 * 1000 // to send a request, and to answer it
const STOP_MS = 10 * 1000
const EXPORT_MS = 1000
const FOLLOW_MS = 250

export async function serve(options: ServeOptions): Promise<Served> {
  const { port, host = '127.0.0.1', batchWindowMs = 0, maxBatch = 256, emit } = options
  refuseUnfollowed(options)
  const tls = readServerKeys(options.tlsCert, options.tlsKey)
  const metrics = await Metrics.open()
  const notice = (message: string) => emit({ kind: 'notice', message })
  const device = openDevice({ device: options.device ?? 'cpu' }, processEnv(), notice)
  const open = (wanted: ScorerSettings['model']) => openPool(options, wanted, device)
  const opened = await openServed(options, open)
  const indexed = await openIndexed(options, open).catch(async (error: unknown) => {
    await opened?.close()
    throw error
  })
  const batch = { windowMs: batchWindowMs, maxBatch, maxQueue: MAX_QUEUE, timeoutMs: REQUEST_MS }
  const bounds = [1, 2, 4, 8, 16, 32, 64, 128, 256]
  const onBatch = metrics.histogram('oarfish_batch_requests', 'Requests scored together.', bounds)
  const batcher = opened && new Batcher(opened.pool, { ...batch, onBatch })
  const recall = indexed && new Batcher(indexed.pool, { ...batch, onBatch })
  const state = { stopping: false }
  const { maxBodyBytes = MAX_BODY_BYTES, adminToken = processEnv()['OARFISH_ADMIN_TOKEN'] } = options
  const { follower } = opened ?? {}
  const handle = createHandler({ batcher, recall, metrics, state, maxBodyBytes, follower, adminToken })
  const timeouts = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }
  const server = tls
    ? createHttpsServer({ ...tls, ...timeouts, minVersion: 'TLSv1.2' }, handle)
    : createServer(timeouts, handle)
  // A client that asks before it sends its body is answered by the handler, which knows the limit.
  server.on('checkContinue', handle)
  try {
    await listen(server, port, host)
  } catch (error) {
    await Promise.all([opened?.close(), indexed?.close()])
    throw cannotListen(error as NodeJS.ErrnoException, host, port)
  }
  const address = server.address() as AddressInfo
  const watches = [
    ...(opened ? [opened.watch(batcher!, metrics, address.port)] : []),
    ...(indexed ? [indexed.watch(recall!, metrics, address.port)] : []),
  ]
  const url = `${tls ? 'https' : 'http'}://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  const names = [opened, indexed].flatMap((one) => (one ? [one.name] : []))
  emit({ kind: 'notice', message: `Serving ${names.join(' and ')} on ${url}` })
  return {
    url,
    port: address.port,
    close: async () => {
      state.stopping = true
      await Promise.all([...watches.map((stop) => stop()), closeServer(server)])
      await Promise.all([batcher, recall].map((one) => one?.pool.close()))
      await Promise.all([opened?.close(), indexed?.close()])
    },
  }
}

/** What is served first, and how newer ones are found. */
export interface OpenedModel {
  readonly pool: ScorerPool
  readonly name: string
  readonly follower?: Follower | undefined
  /** Begins to look for newer ones; returns how to stop. */
  watch(batcher: Batcher, metrics: Metrics, port: number): () => Promise<void>
  /** Ends what does not serve. */
  close(): Promise<void>
}

export type OpenPool = (model: ScorerSettings['model']) => Promise<ScorerPool>

async function openServed(options: ServeOptions, open: OpenPool): Promise<OpenedModel | undefined> {
  const { model, follow, at, pollMs, emit, followersDir: noteIn } = options
  const isNone = model === undefined && follow === undefined
  if (isNone && options.index !== undefined) return undefined
  if (isNone || (model !== undefined && follow !== undefined)) throw eitherModel()
  if (follow !== undefined)
    return await openFollowed({ root: follow, at, emit, open, pollMs: pollMs ?? FOLLOW_MS, noteIn })
  const found = await locateExport(model!)
  const pool = await open({ kind: 'folder', folder: found.folder })
  return {
    pool,
    name: `epoch ${pool.loaded.manifest.epoch} of ${found.folder}`,
    watch: (batcher, metrics) => {
      const onNew = reloader((folder) => open({ kind: 'folder', folder }), { what: 'model', batcher, metrics, emit })
      return watchFolder({ find: () => findExport(model!), mark: found.mark, intervalMs: pollMs ?? EXPORT_MS, onNew })
    },
    close: () => pool.close(),
  }
}

function refuseUnfollowed({ follow, at, followersDir }: ServingOptions): void {
  if (follow !== undefined || (at ?? followersDir) === undefined) return
  throw new UserError(`${at === undefined ? '--followers-dir' : '--at'} is for a server with --follow`, {
    code: 'CLI_OPTION',
    hint: 'oarfish serve --follow output_model, or leave it out',
  })
}

function eitherModel(): UserError {
  return new UserError(
    'name what to serve: an export with --model, a folder of online training with --follow, or an index with --index',
    {
      code: 'CLI_OPTION',
      hint: 'oarfish serve --model exported --port 8080, or oarfish serve --follow output_model --port 8080',
    },
  )
}

function openPool(
  { threads, fillMissing = false, reader, emit }: ServeOptions,
  model: ScorerSettings['model'],
  device: Device,
): Promise<ScorerPool> {
  const options: PoolOptions = {
    model,
    threads: threads ?? Math.max(1, availableParallelism() - 1),
    fillMissing,
    device,
    reader,
    onLost: (error) =>
      emit({ kind: 'warning', message: `A scoring thread was lost and is replaced: ${error.message}` }),
  }
  return ScorerPool.open(options)
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Waits for requests under way, at most STOP_MS. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), STOP_MS)
  await closed
  clearTimeout(timer)
}

function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): UserError {
  const why = cause.code === 'EADDRINUSE' ? 'another program has this port' : cause.message
  return new UserError(`cannot listen on ${host}:${port}: ${why}`, {
    code: 'SERVE_LISTEN',
    hint: 'name a free port with --port, or 0 for any',
    cause,
  })
}
