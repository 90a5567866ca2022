/** @file What becomes of a raw value before the model sees it, as plain data that travels with the model: to threads, exports, servers, Python. */

/** Of a sparse input; `from` is the raw field it is made of. */
export type Feature =
  /** Any text or id: a number below `buckets`. */
  | { readonly kind: 'hash'; readonly from: string; readonly buckets: number }
  /** A number: how many of the boundaries are not above it. */
  | { readonly kind: 'bucketise'; readonly from: string; readonly boundaries: readonly number[] }
  /** A word: its place in the list from 1; 0 for any other. */
  | { readonly kind: 'vocabulary'; readonly from: string; readonly words: readonly string[] }
  /** Several ids in one text. */
  | { readonly kind: 'ids'; readonly from: string; readonly split: string }
  /** Every combination of the signs of other inputs: a number below `buckets`. */
  | { readonly kind: 'cross'; readonly of: readonly string[]; readonly buckets: number }

/** Of a dense input: the sign of x times log(1 + |x|). */
export interface LogFeature {
  readonly kind: 'log'
  readonly from: string
}

/** A murmur3 step and its end: 32-bit arithmetic, the same in every language. */
export function step(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51)
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
  const h = hash ^ k
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
}

function finish(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** Two hashes side by side, begun with a name so that slots do not share collisions. */
export interface Lanes {
  a: number
  b: number
}

const SEEDS = { a: 0x2545f491, b: 0x9e3779b9 } as const

export function lanesOf(name: string): Lanes {
  const lanes: Lanes = { ...SEEDS }
  addText(lanes, name)
  return lanes
}

/** Byte by byte of UTF-8. */
export function addText(lanes: Lanes, text: string): void {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) {
      for (const byte of new TextEncoder().encode(text.slice(i))) addWord(lanes, byte)
      return
    }
    addWord(lanes, code)
  }
}

export function addWord(lanes: Lanes, word: number): void {
  lanes.a = step(lanes.a, word)
  lanes.b = step(lanes.b, word)
}

/** A number below `buckets`: 53 bits of the lanes, which a double holds. */
export function bucketOf({ a, b }: Lanes, buckets: number): number {
  const bits = (finish(a) >>> 11) * 2 ** 32 + finish(b)
  // What % gives, which takes some 20 times as long of numbers this large; the quotient may be rounded to its neighbour.
  const rest = bits - Math.floor(bits / buckets) * buckets
  return rest < 0 ? rest + buckets : rest >= buckets ? rest - buckets : rest
}
