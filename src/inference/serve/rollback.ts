/** @file POST /admin/rollback: another version of those that are followed, for whoever has the token. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { UserError } from '../../base/util/index.ts'
import type { Follower } from './follow.ts'

/** Of versions; a longer one is told back to nobody. */
const LONGEST_NAME = 100

/** Reads `{"at": "20190720/7"}`, or `{"at": null}` for the newest again; throws where it may not be done. */
export async function rollBack(
  follower: Follower | undefined,
  token: string | undefined,
  request: IncomingMessage,
  body: () => Promise<Uint8Array>,
): Promise<void> {
  if (!follower || !token) throw notAllowed('no token was set when the server was started')
  if (!hasToken(request, token)) throw notAllowed('the token is missing or another')
  const at = atOf(await body())
  await follower.pin(at ?? undefined)
}

function atOf(body: Uint8Array): string | null {
  let json: unknown
  try {
    json = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    json = undefined
  }
  const at = (json as { readonly at?: unknown } | null | undefined)?.at
  if (at === null || (typeof at === 'string' && at.length <= LONGEST_NAME)) return at
  throw new UserError('the body is not {"at": "DAY/PASS"} or {"at": null}', {
    code: 'SERVE_JSON',
    hint: 'for example {"at": "20190720/7"}; {"at": null} follows the newest again',
  })
}

/** Whether a request carries the token; without one nobody has it. Takes as long whatever the difference is. */
export function hasToken({ headers }: IncomingMessage, token: string | undefined): boolean {
  if (!token) return false
  const [, given = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(token))
}

function notAllowed(reason: string): UserError {
  return new UserError(`this may not be done: ${reason}`, {
    code: 'SERVE_ADMIN',
    hint: 'start the server with the variable OARFISH_ADMIN_TOKEN, and send it: -H "authorization: Bearer $OARFISH_ADMIN_TOKEN"',
  })
}
