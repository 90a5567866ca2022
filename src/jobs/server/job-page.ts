/** @file The page of a job server: who signs in with AK and SK gets a session, and sees and does there what signed requests may. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { LiveFeed, type Page, readPage, sendJson, sendPage } from '../dashboard/index.ts'
import { readable, type ServerOptions } from './access.ts'
import type { Accounts } from './accounts.ts'
import { readBody } from './http-body.ts'
import { HttpError } from './http-error.ts'
import type { PageState } from './job-page-call.ts'
import { openJobRuns } from './job-runs.ts'
import { PAGE_ROUTES } from './page-routes.ts'
import { AttemptLimit, Sessions } from './sessions.ts'
import { HEADERS, hashOf, type Verifier } from './sign.ts'

export interface JobPage {
  readonly isIts: (pathname: string) => boolean
  readonly answer: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>
  readonly close: () => void
}

const PREFIX = '/page/'
const SIGN_IN = '/page/sign-in'

export function createJobPage(options: ServerOptions, verifier: Verifier): JobPage {
  let page: Page | undefined
  const runs = openJobRuns(options)
  const live = new LiveFeed((topic) => runs.stamp(topic))
  const isSecure = options.tls !== undefined
  const state: PageState = {
    options,
    sessions: new Sessions(),
    live,
    runs,
    setCookie: (response, id) => response.setHeader('set-cookie', cookieOf(response, id, isSecure)),
  }
  const limit = new AttemptLimit()
  const answer: JobPage['answer'] = async (request, response, url) => {
    if (url.pathname === '/') {
      page ??= readPage(undefined, 'jobs')
      return sendPage(request, response, page)
    }
    refuseForeign(request)
    const accounts = readable(options.accounts)
    if (url.pathname === SIGN_IN) return await signIn(request, response, { state, accounts, limit, verifier })
    const session = state.sessions.of(cookieIn(request, isSecure))
    if (!session || accounts.users[session.user]?.ak !== session.ak)
      throw new HttpError(401, 'You are not signed in.', 'Sign in with your keys.')
    const path = url.pathname.slice(PREFIX.length).split('/').map(decodeURIComponent)
    const body = request.method === 'POST' ? await readBody(request) : {}
    const { user } = session
    const call = { session, user, accounts, body, query: url.searchParams, path, request, response, state }
    const route = PAGE_ROUTES.find(({ method, matches }) => method === request.method && matches(path))
    if (!route) throw new HttpError(404, 'There is no such address.', 'Open the page of the job server.')
    const result = await route.handle(call)
    if (result !== undefined) sendJson(request, response, 200, result)
  }
  const close = () => {
    live.close()
    runs.close()
  }
  return { isIts: (pathname) => pathname === '/' || pathname.startsWith(PREFIX), answer, close }
}

/** A page of somebody else in the same browser must not act here: it cannot set this header, and browsers say where a request comes from. */
function refuseForeign({ method, headers }: IncomingMessage): void {
  const { origin, host, 'sec-fetch-site': site } = headers
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && !isSameHost(origin, host)) ||
    (method !== 'GET' && headers['x-oarfish-page'] !== '1')
  if (isForeign) throw new HttpError(403, 'The request does not come from this page.', 'Open the page itself.')
}

function isSameHost(origin: string, host: string | undefined): boolean {
  try {
    return new URL(origin).host === host
  } catch {
    return false
  }
}

interface SigningIn {
  readonly state: PageState
  readonly accounts: Accounts
  readonly limit: AttemptLimit
  readonly verifier: Verifier
}

/** The page signs this request with the secret key, as clients sign theirs: the key itself never leaves the browser. */
async function signIn(
  request: IncomingMessage,
  response: ServerResponse,
  { state, accounts, limit, verifier }: SigningIn,
) {
  const address = request.socket.remoteAddress ?? ''
  if (limit.isOver(address))
    throw new HttpError(429, 'Too many attempts from this address.', 'Wait for a minute, and check the keys.')
  if (request.method !== 'POST') throw new HttpError(405, 'Sign in by POST.', 'Open the page itself.')
  await readBody(request)
  const headers = request.headers as Readonly<Record<string, string | undefined>>
  const refusal = verifier.refusal({ method: 'POST', path: SIGN_IN, hash: hashOf('') }, headers)
  if (refusal) limit.fail(address)
  if (refusal === 'clock')
    throw new HttpError(401, 'The clocks of the two machines are more than five minutes apart.', 'Set one of them.')
  // Which of the two is wrong is nobody's concern.
  if (refusal) throw new HttpError(401, 'These keys are not known here.', '"oarfish cloud user rotate" makes new ones.')
  const [user, { ak }] = Object.entries(accounts.users).find(([, one]) => one.ak === headers[HEADERS.key])!
  state.setCookie(response, state.sessions.open(user, ak).id)
  sendJson(request, response, 200, { name: user })
}

/** Cookies do not know ports: each of several servers of a host has its own. */
function cookieName(port: number | undefined, isSecure: boolean): string {
  return `${isSecure ? '__Host-' : ''}oarfish_jobs_${port}`
}

function cookieOf({ socket }: ServerResponse, id: string, isSecure: boolean): string {
  const name = cookieName(socket?.localPort, isSecure)
  const life = id === '' ? '; Max-Age=0' : ''
  return `${name}=${id}; HttpOnly; SameSite=Strict; Path=/${isSecure ? '; Secure' : ''}${life}`
}

function cookieIn({ headers, socket }: IncomingMessage, isSecure: boolean): string | undefined {
  const name = `${cookieName(socket.localPort, isSecure)}=`
  return (headers.cookie ?? '')
    .split(/;\s*/)
    .find((one) => one.startsWith(name))
    ?.slice(name.length)
}
