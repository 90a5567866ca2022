/** @file Paths, methods and bodies: what is asked goes to the batcher, everything comes back as a status and words. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import { isUserError } from '../../base/util/index.ts'
import type { Batcher } from './batcher.ts'
import { docsPage, openApi } from './describe.ts'
import { bodyTooLarge, errorResponse, unknownPath, wrongContentType, wrongMethod } from './errors.ts'
import type { Follower } from './follow.ts'
import type { BodyKind } from './messages.ts'
import type { Metrics } from './metrics.ts'
import { hasToken, rollBack } from './rollback.ts'

export interface HandlerOptions {
  /** Scores samples. @default nothing does: there is no /predict */
  readonly batcher?: Batcher | undefined
  /** Finds items of users. @default nothing does: there is no /recall */
  readonly recall?: Batcher | undefined
  readonly metrics: Metrics
  /** While stopping, what is asked is answered and connections end with it. */
  readonly state: { readonly stopping: boolean }
  readonly maxBodyBytes: number
  /** What is known of the versions that are followed. @default none are */
  readonly follower?: Follower | undefined
  /** What POST /admin/rollback must be sent as `authorization: Bearer ...`, and GET /healthz for all of it. @default it is refused */
  readonly adminToken?: string | undefined
}

interface Answer {
  readonly status: number
  readonly type: keyof typeof TYPES
  readonly body: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const TYPES = {
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  html: 'text/html; charset=utf-8',
} as const

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Paths that are counted. */
const SCORED = { '/predict': true, '/recall': true } as const

const FOR_ADMINS = "see the server's own output, or ask with the token of OARFISH_ADMIN_TOKEN"

type Route = (request: IncomingMessage, response: ServerResponse) => Answer | Promise<Answer>

export function createHandler(options: HandlerOptions) {
  const { batcher, recall, metrics, state, maxBodyBytes, follower } = options
  const main = (batcher ?? recall)!
  const requests = metrics.counter('oarfish_requests_total', 'Requests to /predict and /recall, by status.', ['code'])
  const samples = metrics.counter('oarfish_samples_total', 'Samples scored.')
  const seconds = metrics.histogram(
    'oarfish_request_seconds',
    'Time from a request to /predict or /recall to its answer.',
    SECONDS,
  )
  const queued = metrics.gauge('oarfish_queued_requests', 'Requests that wait for a thread.')
  const found = recall && metrics.counter('oarfish_recalls_total', 'Users whose items were found.')
  const ask =
    (by: Batcher, count: (samples: number) => void): Route =>
    async (request, response) => {
      const body = await readBody(request, response, maxBodyBytes)
      const answer: BodyKind = request.headers.accept?.startsWith('text/plain') ? 'text' : 'json'
      const query = request.url?.split('?')[1]
      const scored = await by.submit({ kind: bodyKind(request, body), body, answer, query })
      count(scored.samples)
      return { ...scored, type: scored.status === 200 ? answer : 'json' }
    }
  const health: Route = (request) => {
    const { manifest, folder } = main.pool.loaded
    const status = state.stopping ? 'stopping' : 'ok'
    const { epoch, steps } = manifest
    const followed = follower?.state
    // Folders, and reasons that name files, are for whoever has the token: anybody may probe.
    const detail = hasToken(request, options.adminToken)
      ? { model: folder }
      : followed && { waiting: followed.waiting && FOR_ADMINS }
    return {
      status: state.stopping ? 503 : 200,
      type: 'json',
      body: `${JSON.stringify({ status, epoch, steps, ...followed, ...detail })}\n`,
    }
  }
  const count: Route = async () => {
    queued((batcher?.queued ?? 0) + (recall?.queued ?? 0))
    return { status: 200, type: 'prometheus', body: await metrics.text() }
  }
  const descriptions: Route = () => {
    return { status: 200, type: 'json', body: `${JSON.stringify(described(batcher, recall))}\n` }
  }
  const docs: Route = () => ({
    status: 200,
    type: 'html',
    body: docsPage(main.pool.loaded.manifest, batcher ? '/predict' : '/recall'),
  })
  const rollback: Route = async (request, response) => {
    await rollBack(follower, options.adminToken, request, () => readBody(request, response, maxBodyBytes))
    return { status: 200, type: 'json', body: `${JSON.stringify(follower!.state)}\n` }
  }
  const routes: Readonly<Record<string, { readonly method: string; readonly run: Route }>> = {
    ...(batcher && { '/predict': { method: 'POST', run: ask(batcher, samples) } }),
    ...(recall && { '/recall': { method: 'POST', run: ask(recall, found!) } }),
    '/healthz': { method: 'GET', run: health },
    '/metrics': { method: 'GET', run: count },
    '/openapi.json': { method: 'GET', run: descriptions },
    '/docs': { method: 'GET', run: docs },
    ...(follower && { '/admin/rollback': { method: 'POST', run: rollback } }),
  }
  const answerTo = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<Answer> => {
    const method = request.method ?? 'GET'
    const route = Object.hasOwn(routes, path) ? routes[path]! : undefined
    try {
      if (!route) throw unknownPath(path.slice(0, 100))
      if (method !== route.method && !(method === 'HEAD' && route.method === 'GET'))
        throw wrongMethod(method, path, route.method)
      return await route.run(request, response)
    } catch (error) {
      if (!isUserError(error) && !request.destroyed) console.error(error)
      const headers = route && method !== route.method ? { allow: route.method } : {}
      return { ...errorResponse(error), type: 'json', headers }
    }
  }
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = performance.now()
    const path = (request.url ?? '/').split('?')[0]!
    const answer = await answerTo(request, response, path)
    if (Object.hasOwn(SCORED, path)) {
      requests(1, { code: answer.status })
      seconds((performance.now() - started) / 1000)
    }
    if (!response.writableEnded && !response.destroyed) send(request, response, answer, state.stopping)
  }
}

const described = (batcher: Batcher | undefined, recall: Batcher | undefined) =>
  openApi({ model: batcher?.pool.loaded.manifest, users: recall?.pool.loaded.manifest })

/** A connection whose request was not read to its end cannot be used again. */
function send(request: IncomingMessage, response: ServerResponse, answer: Answer, stopping: boolean): void {
  const { status, type, body, headers } = answer
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value)
  if (status === 503) response.setHeader('retry-after', '1')
  if (stopping || !request.complete) response.setHeader('connection', 'close')
  response.writeHead(status, { 'content-type': TYPES[type], 'content-length': Buffer.byteLength(body) })
  response.end(request.method === 'HEAD' ? undefined : body)
  if (!request.complete) discardRest(request)
}

const DISCARD_MS = 5 * 1000

/** A client that still sends would take a cut connection for the answer, so what it sends is thrown away for a while. */
function discardRest(request: IncomingMessage): void {
  request.resume()
  const timer = setTimeout(() => request.destroy(), DISCARD_MS).unref()
  request.once('close', () => clearTimeout(timer))
}

/**
 * The whole body. One that is too large is refused at its first byte too many, or before it is sent where the client asks;
 * what still comes is thrown away.
 */
function readBody(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const refuse = () => {
      request.removeAllListeners('data')
      request.resume()
      reject(bodyTooLarge(limit))
    }
    if (Number(request.headers['content-length'] ?? 0) > limit) return refuse()
    if (request.headers.expect !== undefined) response.writeContinue()
    const pieces: Buffer[] = []
    let bytes = 0
    request.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > limit) refuse()
      else pieces.push(piece)
    })
    request.on('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))
    request.on('error', reject)
    request.on('close', () => reject(new Error('the client went away')))
  })
}

const JSON_TYPE = /^application\/([\w.-]+\+)?json$/
/** What curl and the like send when nobody said what it is. */
const ANY_TYPE = /^(application\/(x-www-form-urlencoded|octet-stream))?$/

function bodyKind({ headers }: IncomingMessage, body: Uint8Array): BodyKind {
  const type = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw wrongContentType(`${type}, ${encoding}`)
  if (JSON_TYPE.test(type)) return 'json'
  if (type === 'text/plain') return 'text'
  if (!ANY_TYPE.test(type)) throw wrongContentType(type)
  const first = body.find((byte) => byte > 0x20)
  return first === 0x7b || first === 0x5b ? 'json' : 'text' // { or [
}
