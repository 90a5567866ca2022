/** @file Finding a sign among many, by a hash index over 32-bit halves: bigints would allocate at every comparison. */

/** Row numbers plus one by hash, 0 where free; at most half full, so that one or two looks find a sign. */
export type SignIndex = Uint32Array

/** The index of `count` distinct signs stored as little-endian halves, in memory that threads share. */
export function indexSigns(words: Uint32Array, count: number): SignIndex {
  const size = 2 ** Math.max(1, Math.ceil(Math.log2(2 * Math.max(1, count))))
  const index = new Uint32Array(new SharedArrayBuffer(4 * size))
  const mask = size - 1
  for (let row = 0; row < count; row++) {
    let at = hash(words[2 * row]!, words[2 * row + 1]!) & mask
    while (index[at] !== 0) at = (at + 1) & mask
    index[at] = row + 1
  }
  return index
}

/** The row of the sign (low, high), or -1. */
export function findSign(index: SignIndex, words: Uint32Array, low: number, high: number): number {
  const mask = index.length - 1
  for (let at = hash(low, high) & mask; ; at = (at + 1) & mask) {
    const row = index[at]! - 1
    if (row < 0 || (words[2 * row] === low && words[2 * row + 1] === high)) return row
  }
}

/** Mixes both halves into 32 bits; ids in a row must not fall into one place. */
function hash(low: number, high: number): number {
  let x = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 15), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}
