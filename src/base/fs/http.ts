/** @file HTTP for file systems: streams in and out, redirects, answers that are errors, another try where one may help. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'

export interface HttpRequest {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AsyncIterable<Uint8Array> | Uint8Array | undefined
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
}: HttpRequest): Promise<IncomingMessage> {
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
  if (statusCode >= 400) throw new HttpStatusError(statusCode, await text(response))
  if (!redirect || statusCode < 300 || answered.location === undefined) return response
  await drain(response)
  return await exchange({ method, url: new URL(answered.location, url).href, headers, body })
}

/** Reads an answer to its end, so that its connection can be used again. */
export async function drain(response: IncomingMessage): Promise<void> {
  for await (const _piece of response.resume());
}

const RESUMES = 5

/** A stream that goes on where a broken connection left it. `open` tries again by itself, and words what it could not mend. */
export async function* resumed(
  open: (offset: number) => Promise<IncomingMessage>,
  reword: (error: Error) => Error,
): AsyncGenerator<Uint8Array> {
  let [offset, broken] = [0, 0]
  for (;;) {
    const response = await open(offset)
    try {
      for await (const piece of response) {
        offset += (piece as Buffer).length
        yield piece as Uint8Array
      }
      return
    } catch (error) {
      if (++broken > RESUMES) throw reword(error as Error)
    }
  }
}

/** A stream as one piece, of at most `length` bytes. */
export async function joined(pieces: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array> {
  const whole = new Uint8Array(length)
  let used = 0
  for await (const piece of pieces) {
    whole.set(piece.subarray(0, length - used), used)
    used = Math.min(length, used + piece.length)
  }
  return whole.subarray(0, used)
}

const ATTEMPTS = 4
const FIRST_WAIT_MS = 200

/** Tries again after broken connections and answers that promise nothing for the next time, or that `isPassing`; `reword` puts the last failure into words. */
export async function retried<T>(
  work: () => Promise<T>,
  reword: (error: Error) => Error,
  isPassing: (error: HttpStatusError) => boolean = () => false,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const mayPass =
        !(error instanceof HttpStatusError) || error.status === 429 || error.status >= 502 || isPassing(error)
      if (!mayPass || attempt === ATTEMPTS) throw reword(error as Error)
      await new Promise((done) => setTimeout(done, FIRST_WAIT_MS * 2 ** (attempt - 1)))
    }
  }
}
