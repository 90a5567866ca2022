/** @file A request's body within a limit, and what kind of body it is. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyTooLarge, wrongContentType } from './errors.ts'
import type { BodyKind } from './messages.ts'

/**
 * The whole body. One that is too large is refused at its first byte too many, or before it is sent where the client asks;
 * what still comes is thrown away.
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Uint8Array> {
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

export function bodyKind({ headers }: IncomingMessage, body: Uint8Array): BodyKind {
  const type = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw wrongContentType(`${type}, ${encoding}`)
  if (JSON_TYPE.test(type)) return 'json'
  if (type === 'text/plain') return 'text'
  if (!ANY_TYPE.test(type)) throw wrongContentType(type)
  const first = body.find((byte) => byte > 0x20)
  return first === 0x7b || first === 0x5b ? 'json' : 'text' // { or [
}
