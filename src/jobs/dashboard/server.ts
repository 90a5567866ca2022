/** @file The dashboard over HTTP: the page, what it asks for, and what has changed. It only reads, and where others can reach it only for who has the token. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { UserError } from '../../base/util/index.ts'
import { type Page, readPage } from './page-file.ts'
import { openRunApi, type RunApi } from './run-api.ts'
import { sendJson, sendPage } from './send.ts'

export interface DashboardOptions {
  readonly folders: readonly string[]
  readonly version: string
  /** @default 127.0.0.1 */
  readonly host?: string | undefined
  /** The next free one is taken where it is in use; 0 is any. @default 6006 */
  readonly port?: number | undefined
  /** Whoever opens the page must have a token. @default false on loopback, true on any other address */
  readonly token?: boolean | undefined
  /** Serves HTTPS: PEM texts. @default HTTP */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** The built page. @default that of the package */
  readonly page?: string | undefined
}

export interface Dashboard {
  /** With the token, where there is one. */
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const PORT = 6006
const TRIES = 100
const LOOPBACK = ['127.0.0.1', 'localhost', '::1']

export async function openDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { folders, version, host = LOOPBACK[0]!, port = PORT, tls } = options
  const token = LOOPBACK.includes(host) && !options.token ? undefined : randomBytes(18).toString('base64url')
  const runs = openRunApi({ folders, version })
  const served = { runs, page: readPage(options.page), token }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    try {
      respond(request, response, served)
    } catch (error) {
      if (response.headersSent) response.destroy()
      else sendJson(request, response, 500, { error: (error as Error).message })
    }
  }
  const server = tls ? createTlsServer({ ...tls, minVersion: 'TLSv1.2' }, answer) : createServer(answer)
  const bound = await listen(server, host, port)
  const shown = host === '0.0.0.0' || host === '::' ? 'HOST' : host
  const url = `${tls ? 'https' : 'http'}://${shown.includes(':') ? `[${shown}]` : shown}:${bound}/${token === undefined ? '' : `?token=${token}`}`
  const close = async () => {
    runs.close()
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return { url, port: bound, close }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  for (let tried = port; ; tried++) {
    const error = await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(tried, host, () => {
        server.off('error', reject)
        resolve()
      })
    }).catch((reason: NodeJS.ErrnoException) => reason)
    if (!error) return (server.address() as { readonly port: number }).port
    if (error.code !== 'EADDRINUSE' || tried >= Math.min(65_535, port + TRIES))
      throw new UserError(`The dashboard cannot listen at ${host}:${tried}: ${error.message}.`, {
        code: 'DASHBOARD_PORT',
        hint: 'Name another port with --port, or an address of this host with --host.',
      })
  }
}

interface Served {
  readonly runs: RunApi
  readonly page: Page
  readonly token: string | undefined
}

/** Cookies do not know ports: each of several dashboards of a host has its own. */
const cookieName = ({ socket }: IncomingMessage) => `oarfish_dashboard_${socket.localPort}`

function respond(request: IncomingMessage, response: ServerResponse, served: Served) {
  const url = urlOf(request)
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return sendJson(request, response, 405, { error: 'It only reads.' })
  if (!url || !isOwnHost(request, served.token))
    return sendJson(request, response, 400, { error: 'This is no address of the dashboard.' })
  if (served.token !== undefined && !hasToken(request, url, served.token))
    return sendJson(request, response, 401, {
      error: 'Open the address that oarfish dashboard printed, with its token.',
    })
  const { token } = served
  const cookie =
    token === undefined ? {} : { 'set-cookie': `${cookieName(request)}=${token}; HttpOnly; SameSite=Strict; Path=/` }
  if (url.pathname === '/') return sendPage(request, response, served.page, cookie)
  const [, api, ...path] = url.pathname.split('/').map(decodeURIComponent)
  if (api !== 'api') return sendJson(request, response, 404, { error: 'There is no such address.' })
  served.runs.respond(request, response, path, url.searchParams)
}

function urlOf({ url = '/' }: IncomingMessage): URL | undefined {
  try {
    const parsed = new URL(url, 'http://dashboard')
    parsed.pathname.split('/').map(decodeURIComponent)
    return parsed
  } catch {
    return undefined
  }
}

/** Without a token only by this machine's own names: a page of somebody else must not reach it through a name of theirs. */
function isOwnHost({ headers: { host = '' } }: IncomingMessage, token: string | undefined): boolean {
  return token !== undefined || LOOPBACK.includes(host.replace(/:\d+$/, '').replaceAll(/[[\]]/g, ''))
}

function hasToken(request: IncomingMessage, url: URL, token: string): boolean {
  const cookies = (request.headers.cookie ?? '').split(/;\s*/)
  const name = `${cookieName(request)}=`
  const given = url.searchParams.get('token') ?? cookies.find((one) => one.startsWith(name))?.slice(name.length)
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(token)]
  return a.length === b.length && timingSafeEqual(a, b)
}
