/** @file What a client may do wrong, as status and words. Each code has a section in docs/reference/errors.md. */
import { isUserError, UserError } from '../../base/util/index.ts'

const STATUS: Readonly<Record<string, number>> = {
  SERVE_PATH: 404,
  SERVE_ADMIN: 403,
  VERSION_UNKNOWN: 404,
  SERVE_METHOD: 405,
  SERVE_BODY_SIZE: 413,
  SERVE_CONTENT_TYPE: 415,
  RECALL_ITEM: 404,
  SERVE_BUSY: 503,
  SERVE_TIMEOUT: 503,
}
const BAD_REQUEST = 400

/** An error as a response: the client's own as 4xx with what to do, anything else as 500 without its inside. */
export function errorResponse(error: unknown): { readonly status: number; readonly body: string } {
  const own = isUserError(error)
  const { code, message, hint } = own
    ? error
    : { code: 'SERVE_INTERNAL', message: 'the server failed', hint: "look at the server's own output" }
  const status = own ? (STATUS[code] ?? BAD_REQUEST) : 500
  return { status, body: `${JSON.stringify({ error: { code, message, hint } })}\n` }
}

export const unknownPath = (path: string) =>
  new UserError(`there is nothing at ${path}`, {
    code: 'SERVE_PATH',
    hint: 'POST /predict scores (with --model), POST /recall finds items of users (with --index), GET /healthz says how it is, GET /metrics counts',
  })

export const wrongMethod = (method: string, path: string, allowed: string) =>
  new UserError(`${path} does not take ${method}`, { code: 'SERVE_METHOD', hint: `use ${allowed} ${path}` })

export const bodyTooLarge = (limit: number) =>
  new UserError(`the body is larger than ${limit} bytes`, {
    code: 'SERVE_BODY_SIZE',
    hint: 'send fewer samples at a time, or start the server with a larger --max-body-bytes',
  })

export const wrongContentType = (type: string) =>
  new UserError(`a body of type ${type} cannot be scored`, {
    code: 'SERVE_CONTENT_TYPE',
    hint: 'send content-type: application/json or text/plain, without a content-encoding',
  })

export const notJson = (reason: string) =>
  new UserError(`the body is not JSON: ${reason}`, {
    code: 'SERVE_JSON',
    hint: 'send {"instances":[{"slot":[values],...},...]}; samples.json of the export is an example',
  })

export const notInstances = (found: string) =>
  new UserError(`expected {"instances":[...]} or a list of samples, found ${found}`, {
    code: 'SERVE_JSON',
    hint: 'send {"instances":[{"slot":[values],...},...]}; samples.json of the export is an example',
  })

export const noSamples = () =>
  new UserError('the body has no samples', {
    code: 'SERVE_EMPTY',
    hint: 'send at least one line of slot text, or one instance',
  })

export const missingSlot = (place: string, slot: string, filler: string, guess: string | undefined) =>
  new UserError(`${place}: slot "${slot}" is missing${guess === undefined ? '' : `; did you mean it by "${guess}"?`}`, {
    code: 'SERVE_MISSING_SLOT',
    hint: `send ${filler}, which is what training makes of a missing slot, or start the server with --fill-missing`,
  })

export const wrongValue = (place: string, message: string) =>
  new UserError(`${place}: ${message}`, {
    code: 'SERVE_VALUE',
    hint: 'ids are whole numbers from 0 to 2^64-1, above 9007199254740991 as strings ("18446744073709551615"); dense values are numbers',
  })

export const badText = (message: string) =>
  new UserError(message, {
    code: 'SERVE_TEXT',
    hint: 'send one sample a line, as slot text (user:12 x:0.5) or as MultiSlot text (1 12 1 0.5)',
  })

export const busy = (queued: number) =>
  new UserError(`${queued} requests wait already`, { code: 'SERVE_BUSY', hint: 'send it again in a second' })

export const timedOut = (ms: number) =>
  new UserError(`no score within ${ms} ms`, {
    code: 'SERVE_TIMEOUT',
    hint: 'send fewer samples at a time, or try again',
  })
