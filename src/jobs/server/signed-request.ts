/** @file A signed request to a job server, and errors that say what the server said. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { text as readText } from 'node:stream/consumers'
import { defined, UserError } from '../../base/util/index.ts'
import { type Keys, sign } from './sign.ts'

/** Whose request it is, and of whom. */
export interface Account {
  readonly server: string
  readonly keys: Keys
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly hash: string
  readonly body?: string | NodeJS.ReadableStream
  readonly bytes?: number
}

const TIMEOUT_MS = 60_000

/** Its answer; any other status than 2xx is thrown in the server's words. */
export function send({ server, keys }: Account, { method, path, hash, body, bytes }: Sent): Promise<IncomingMessage> {
  const url = new URL(path, server)
  const signed = sign({ method, path: `${url.pathname}${url.search}`, hash }, keys)
  const headers = defined({ ...signed, 'content-length': bytes?.toString() })
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((done, fail) => {
    const request = start(url, { method, headers, timeout: TIMEOUT_MS }, (response) => {
      if ((response.statusCode ?? 500) < 300) done(response)
      else readText(response).then((text) => fail(refusedError(response.statusCode!, text)), fail)
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)))
    request.on('error', (error: NodeJS.ErrnoException) => fail(unreachable(server, error)))
    if (body === undefined || typeof body === 'string') request.end(body ?? '')
    else body.on('error', (error) => request.destroy(error)).pipe(request)
  })
}

function refusedError(status: number, text: string): UserError {
  try {
    const { error, hint } = JSON.parse(text) as { error: string; hint: string }
    return new UserError(error, { code: 'CLOUD_REFUSED', hint })
  } catch {
    return new UserError(`The server answered ${status}: ${text.slice(0, 200)}`, {
      code: 'CLOUD_REFUSED',
      hint: 'What answers there is no job server of Oarfish.',
    })
  }
}

function unreachable(server: string, error: NodeJS.ErrnoException): UserError {
  return new UserError(`The job server ${server} cannot be reached: ${error.message}.`, {
    code: 'CLOUD_UNREACHABLE',
    hint: `Start one with: oarfish cloud serve
Its address is submit.server of backend.yaml, else PADDLECLOUD_SERVER, else "server" in ~/.config/oarfish/cloud.yaml, else http://127.0.0.1:8180.`,
    cause: error,
  })
}
