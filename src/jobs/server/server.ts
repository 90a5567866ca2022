/** @file The job server: HTTP in front of store and dispatcher. Requests are signed; one table says what they may ask. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { readLogs } from '../agent/index.ts'
import { jobFolder } from '../executors/index.ts'
import { isOver } from '../submit/index.ts'
import { admitted, fsUgiOf, jobFor, readable, type ServerOptions } from './access.ts'
import type { Accounts } from './accounts.ts'
import { readBody } from './http-body.ts'
import { HttpError } from './http-error.ts'
import { createJobPage, type JobPage } from './job-page.ts'
import { describeUser, detailed, summary } from './job-views.ts'
import { asksForOthers, isVisible, isWanted, readFilter } from './listing.ts'
import { openApi } from './openapi.ts'
import { createVerifier, HEADERS, type Verifier } from './sign.ts'
import type { CloudJob, Store } from './store.ts'
import { missingFiles, receivedBytes, receiveFile } from './upload.ts'

interface Call {
  readonly user: string
  readonly accounts: Accounts
  readonly job: CloudJob
  readonly query: URLSearchParams
  readonly body: unknown
  readonly name: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

type Handler = (call: Call, options: ServerOptions) => Promise<unknown>

const ROUTES: Readonly<Record<string, Handler>> = {
  'POST /v1/jobs': createJob,
  'GET /v1/jobs': async (call, { store }) => listed(call, store),
  'GET /v1/users/me': async ({ user, accounts }) => describeUser(user, accounts),
  'POST /v1/users/rotate': async ({ user }, { rotate }) => await rotate(user),
  'GET /v1/jobs/:id': async ({ job }, { store }) => detailed(job, store),
  'POST /v1/checks': async (call, options) => {
    admitted(call, options)
    return { admitted: true }
  },
  'PUT /v1/jobs/:id/files/:name': async ({ job, name, query, request }, { store }) => {
    const from = Number(query.get('from') ?? 0)
    return await receiveFile(request, jobFolder(store.folderOf(job.id)).files, announced(job, name), from)
  },
  'GET /v1/jobs/:id/files/:name': async ({ job, name }, { store }) => ({
    received: receivedBytes(jobFolder(store.folderOf(job.id)).files, announced(job, name)),
  }),
  'POST /v1/jobs/:id/ready': readyJob,
  'POST /v1/jobs/:id/stop': async ({ job }, { store, dispatcher }) => {
    await dispatcher.stop(job.id)
    return summary(store.jobs.get(job.id)!)
  },
  'GET /v1/jobs/:id/logs': sendLogs,
}

export function createJobServer(options: ServerOptions): Server {
  const { nonces, tls } = options
  const secretOf = (ak: string) => Object.values(options.accounts().users).find((user) => user.ak === ak)?.sk
  const verifier = createVerifier(secretOf, Date.now, nonces)
  const page = createJobPage(options, verifier)
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response, { options, verifier, page }).catch((error: unknown) => fail(response, error))
  }
  const server = tls ? createHttpsServer({ ...tls, minVersion: 'TLSv1.2' }, handle) : createServer(handle)
  return server.once('close', page.close)
}

interface Context {
  readonly options: ServerOptions
  readonly page: JobPage
  readonly verifier: Verifier
}

async function answer(request: IncomingMessage, response: ServerResponse, { options, verifier, page }: Context) {
  const { method = 'GET', url: path = '/' } = request
  const url = parsed(path)
  if (method === 'GET' && url.pathname === '/openapi.json') return send(response, 200, openApi(options.version))
  if (page.isIts(url.pathname)) return await page.answer(request, response, url)
  const { route, id, name } = routeOf(method, url.pathname)
  const accounts = readable(options.accounts)
  const headers = request.headers as Readonly<Record<string, string | undefined>>
  const hash = headers[HEADERS.hash] ?? ''
  const refusal = verifier.refusal({ method, path, hash }, headers)
  if (refusal === 'too many') throw new HttpError(429, 'The request was refused: too many requests.', REFUSED[refusal])
  if (refusal) throw new HttpError(401, `The request was refused: ${refusal}.`, REFUSED[refusal])
  const [user] = Object.entries(accounts.users).find(([, { ak }]) => ak === headers[HEADERS.key])!
  const body = method === 'POST' ? await readBody(request, hash) : undefined
  const job = id === undefined ? undefined : jobFor(id, method, user, { store: options.store, accounts })
  const handler = ROUTES[route]!
  const call = { user, accounts, job: job!, query: url.searchParams, body, name: name ?? '', request, response }
  const result = await handler(call, options)
  if (!response.headersSent) send(response, method === 'POST' && route === 'POST /v1/jobs' ? 201 : 200, result)
}

const REFUSED = {
  unsigned: 'Sign it with AK and SK, as openapi.json says.',
  'unknown key': 'Check ak in backend.yaml; "oarfish cloud user add" makes keys.',
  'wrong signature': 'Check sk in backend.yaml; a proxy may have changed the request.',
  clock: 'The clocks of the two machines are more than five minutes apart.',
  replayed: 'A request can be sent only once.',
  'too many': 'The server remembers no more of them; wait for some minutes.',
} as const

/** What a browser calls an address may be none: `//`, `/%`. */
function parsed(path: string): URL {
  try {
    const url = new URL(path, 'http://server')
    decodeURIComponent(url.pathname)
    return url
  } catch {
    throw new HttpError(
      400,
      `${JSON.stringify(path.slice(0, 200))} is no address of this server.`,
      'See /openapi.json.',
    )
  }
}

function routeOf(
  method: string,
  pathname: string,
): { route: string; id?: string | undefined; name?: string | undefined } {
  const parts = pathname.split('/').slice(1)
  if (parts[1] === 'users' && ROUTES[`${method} ${pathname}`]) return { route: `${method} ${pathname}` }
  const [, , id, what, name] = parts
  const shape = [...parts.slice(0, 2), ...(id === undefined ? [] : [':id']), ...(what === undefined ? [] : [what])]
  const route = `${method} /${[...shape, ...(name === undefined ? [] : [':name'])].join('/')}`
  if (parts.length > 5 || !ROUTES[route])
    throw new HttpError(404, `There is no ${method} ${pathname}.`, 'See /openapi.json.')
  return { route, id, name: name === undefined ? undefined : decodeURIComponent(name) }
}

async function createJob(call: Call, options: ServerOptions) {
  const { user, accounts, body } = call
  const request = admitted(call, options)
  const job = await options.store.create(user, request, fsUgiOf(body))
  return { groupName: request.group, jobId: job.id, userId: accounts.users[user]!.id }
}

function announced(job: CloudJob, name: string) {
  const file = job.request.files.find((each) => each.name === name)
  if (job.phase !== 'uploading') throw new HttpError(409, `Job ${job.id} takes no more files.`, 'Submit it again.')
  if (!file) throw new HttpError(404, `Job ${job.id} has no file ${name}.`, 'Announce it when the job is created.')
  return file
}

async function readyJob({ job }: Call, { store, dispatcher }: ServerOptions) {
  if (job.phase !== 'uploading') return summary(job)
  const missing = missingFiles(jobFolder(store.folderOf(job.id)).files, job.request.files)
  if (missing.length > 0) throw new HttpError(409, `Files are missing: ${missing.join(', ')}.`, 'Upload them first.')
  await store.setPhase(job.id, 'queued')
  void dispatcher.turn()
  return summary(store.jobs.get(job.id)!)
}

async function sendLogs({ job, query, response }: Call, { store }: ServerOptions): Promise<void> {
  const rank = query.get('rank')
  const selection = { role: query.get('role') ?? undefined, rank: rank === null ? undefined : Number(rank) }
  const follow = query.get('follow') === '1'
  const over = () => !follow || response.destroyed || isOver(store.jobs.get(job.id)!.phase)
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
  const folder = store.folderOf(job.id)
  for await (const text of readLogs(jobFolder(folder).logs, selection, over, { within: folder })) {
    if (response.destroyed) return
    if (!response.write(text)) await new Promise((done) => response.once('drain', done).once('close', done))
  }
  response.end()
}

const DEFAULT_LIMIT = 100

/** Newest first. */
function listed({ user, accounts, query }: Call, store: Store) {
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  const filter = readFilter(query)
  const others = asksForOthers(filter)
  const found = [...store.jobs.values()]
    .filter((job) => job.user === user || (others && isVisible(job, user, accounts)))
    .map(summary)
    .filter((job) => isWanted(job, filter))
    .reverse()
  return { total: found.length, jobs: found.slice(0, limit) }
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(value)}\n`)
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) response.destroy()
  else if (error instanceof HttpError) send(response, error.status, { error: error.message, hint: error.hint })
  else if ((error as NodeJS.ErrnoException).code === 'ENOSPC') send(response, 507, DISK_FULL)
  else send(response, 500, { error: (error as Error).message, hint: 'This is a fault of the server.' })
}

const DISK_FULL = {
  error: 'The disk of the job server is full; nothing was submitted.',
  hint: 'Make room there and submit again.',
}
