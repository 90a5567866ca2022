/** @file Signed requests: who asks, when, and that nothing was changed on the way. A request cannot be sent a second time. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Nonces, openNonces } from './nonces.ts'

export const HEADERS = {
  key: 'x-oarfish-key',
  time: 'x-oarfish-time',
  nonce: 'x-oarfish-nonce',
  hash: 'x-oarfish-content-sha256',
  signature: 'x-oarfish-signature',
} as const

export interface Request {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** SHA-256 of the body in hex; uploads declare it before they send. */
  readonly hash: string
}

export interface Keys {
  readonly ak: string
  readonly sk: string
}

export const EMPTY_HASH = hashOf('')
const SKEW_MS = 5 * 60_000

export function hashOf(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

/** The headers that a request carries. */
export function sign(request: Request, { ak, sk }: Keys, now = Date.now()): Readonly<Record<string, string>> {
  const [time, nonce] = [String(now), randomBytes(16).toString('hex')]
  return {
    [HEADERS.key]: ak,
    [HEADERS.time]: time,
    [HEADERS.nonce]: nonce,
    [HEADERS.hash]: request.hash,
    [HEADERS.signature]: signature(request, time, nonce, sk),
  }
}

export type Refusal = 'unsigned' | 'unknown key' | 'wrong signature' | 'clock' | 'replayed' | 'too many'

export interface Verifier {
  /** Undefined: it is what it says it is. */
  refusal(request: Request, headers: Readonly<Record<string, string | undefined>>): Refusal | undefined
}

/** Remembers the nonces of the last minutes; older requests are refused by their time. */
export function createVerifier(
  secretOf: (ak: string) => string | undefined,
  clock = Date.now,
  nonces: Nonces = openNonces(undefined, { clock }),
): Verifier {
  return {
    refusal: (request, headers) => {
      const [ak, time, nonce, given] = [HEADERS.key, HEADERS.time, HEADERS.nonce, HEADERS.signature].map(
        (name) => headers[name],
      )
      if (!ak || !time || !nonce || !given) return 'unsigned'
      const sk = secretOf(ak)
      if (sk === undefined) return 'unknown key'
      if (!sameText(given, signature(request, time, nonce, sk))) return 'wrong signature'
      const now = clock()
      if (!(Math.abs(now - Number(time)) <= SKEW_MS)) return 'clock'
      const known = nonces.add(`${ak} ${nonce}`, Number(time) + SKEW_MS)
      return known === 'new' ? undefined : known === 'seen' ? 'replayed' : 'too many'
    },
  }
}

function signature({ method, path, hash }: Request, time: string, nonce: string, sk: string): string {
  return createHmac('sha256', sk).update([method, path, time, nonce, hash].join('\n')).digest('hex')
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
