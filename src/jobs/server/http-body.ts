/** @file The body of a request: JSON, of a size that harms nobody, and what was signed. */
import type { IncomingMessage } from 'node:http'
import { HttpError } from './http-error.ts'
import { hashOf } from './sign.ts'

const MAX_BODY = 1 << 20

/** An object; nothing at all is an empty one. `hash` is what was signed, undefined where nothing was. */
export async function readBody(request: IncomingMessage, hash?: string): Promise<Readonly<Record<string, unknown>>> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request) {
    bytes += piece.length
    if (bytes > MAX_BODY) throw new HttpError(413, 'The request is too large.', 'Files are uploaded one by one.')
    pieces.push(piece as Buffer)
  }
  const body = Buffer.concat(pieces)
  if (hash !== undefined && hashOf(body) !== hash)
    throw new HttpError(
      401,
      'The request was refused: its body is not what was signed.',
      'Check sk in backend.yaml; a proxy may have changed the request.',
    )
  if (body.length === 0) return {}
  const value = fromJson(body.toString('utf8'))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new HttpError(400, 'The body is not a JSON object.', 'See /openapi.json.')
  return value as Readonly<Record<string, unknown>>
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpError(400, 'The body is not JSON.', 'See /openapi.json.')
  }
}
