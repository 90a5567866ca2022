/**
 * @file Requests signed with a secret key, which never leaves the browser. SHA-256 is written out: browsers lend theirs to pages over HTTPS and of the same
 * host only, and a job server inside a company's network may be neither.
 */

/** As the server checks it (src/jobs/server/sign.ts). */
export function signedHeaders(method: string, path: string, { ak, sk }: { readonly ak: string; readonly sk: string }) {
  const time = String(Date.now())
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)))
  const hash = hex(sha256(new Uint8Array()))
  const text = [method, path, time, nonce, hash].join('\n')
  return {
    'x-oarfish-key': ak,
    'x-oarfish-time': time,
    'x-oarfish-nonce': nonce,
    'x-oarfish-content-sha256': hash,
    'x-oarfish-signature': hex(hmac(bytesOf(sk), bytesOf(text))),
  }
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

const BLOCK = 64

export function hmac(key: Uint8Array, message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(BLOCK)
  padded.set(key.length > BLOCK ? sha256(key) : key)
  const inner = sha256(
    joined(
      padded.map((byte) => byte ^ 0x36),
      message,
    ),
  )
  return sha256(
    joined(
      padded.map((byte) => byte ^ 0x5c),
      inner,
    ),
  )
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}

/** The first 32 bits of the fractions of square and cube roots of primes, as the standard has it. */
const PRIMES = primes(64)
const fraction = (value: number) => ((value - Math.floor(value)) * 2 ** 32) | 0
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)))

function primes(count: number): readonly number[] {
  const found: number[] = []
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
}

export function sha256(message: Uint8Array): Uint8Array {
  const blocks = Math.ceil((message.length + 9) / BLOCK)
  const padded = new DataView(new ArrayBuffer(blocks * BLOCK))
  new Uint8Array(padded.buffer).set(message)
  padded.setUint8(message.length, 0x80)
  padded.setBigUint64(padded.byteLength - 8, BigInt(message.length) * 8n)
  const state = Int32Array.from(START)
  for (let at = 0; at < padded.byteLength; at += BLOCK) addBlock(state, padded, at)
  const result = new DataView(new ArrayBuffer(32))
  for (const [i, word] of state.entries()) result.setInt32(4 * i, word)
  return new Uint8Array(result.buffer)
}

const turned = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits))

function addBlock(state: Int32Array, bytes: DataView, at: number): void {
  const words = new Int32Array(64)
  for (let i = 0; i < 16; i++) words[i] = bytes.getInt32(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const [early, late] = [words[i - 15]!, words[i - 2]!]
    const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)
    const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10)
    words[i] = words[i - 16]! + first + words[i - 7]! + second
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let i = 0; i < 64; i++) {
    const high = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const one = (h + high + ((e & f) ^ (~e & g)) + ROUNDS[i]! + words[i]!) | 0
    const low = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0]
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = state[i]! + word
}
