/** @file HTTP for file systems: streams in and out, redirects, answers that are errors, another try where one may help. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export interface Exchange {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AsyncIterable<Uint8Array> | Uint8Array
  /** @default true */
  readonly redirect?: boolean
}

export class HttpStatusError extends Error {
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`HTTP ${status}`)
    this.name = 'HttpStatusError'
    this.status = status
    this.body = body
  }
}

const TIMEOUT_MS = 60_000

/** Resolves to an answer below 400, its body unread. */
export async function exchange({
  method = 'GET',
  url,
  headers = {},
  body,
  redirect = true,
}: Exchange): Promise<IncomingMessage> {
  const start = url.startsWith('https:') ? httpsRequest : httpRequest
  const response = await new Promise<IncomingMessage>((done, fail) => {
    const request = start(url, { method, headers, timeout: TIMEOUT_MS }, done)
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)))
    request.on('error', fail)
    if (body === undefined) request.end()
    else if (body instanceof Uint8Array) request.end(body)
    else pipeline(Readable.from(body), request).catch(fail)
  })
  const { statusCode = 500, headers: answered } = response
  if (statusCode >= 400) throw new HttpStatusError(statusCode, await textOf(response))
  if (!redirect || statusCode < 300 || answered.location === undefined) return response
  await drain(response)
  return await exchange({ method, url: new URL(answered.location, url).href, headers, ...(body && { body }) })
}

export async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8')
  let text = ''
  for await (const piece of response) text += piece
  return text
}

/** Reads an answer to its end, so that its connection can be used again. */
export async function drain(response: IncomingMessage): Promise<void> {
  for await (const _piece of response.resume());
}

const ATTEMPTS = 4
const FIRST_WAIT_MS = 200

/** Tries again after broken connections and answers that promise nothing for the next time; `tell` words the last failure. */
export async function retried<T>(work: () => Promise<T>, tell: (error: Error) => Error): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const passing = !(error instanceof HttpStatusError) || error.status === 429 || error.status >= 502
      if (!passing || attempt === ATTEMPTS) throw tell(error as Error)
      await new Promise((done) => setTimeout(done, FIRST_WAIT_MS * 2 ** (attempt - 1)))
    }
  }
}
