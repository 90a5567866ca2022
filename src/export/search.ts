/** @file Finding a sign among sorted ones, in 32-bit halves: bigints would allocate at every comparison. */

/** The index of the sign (low, high) among `count` ascending signs stored as little-endian halves, or -1. */
export function findSign(words: Uint32Array, count: number, low: number, high: number): number {
  let from = 0
  let to = count - 1
  while (from <= to) {
    const middle = (from + to) >>> 1
    const otherHigh = words[2 * middle + 1]!
    const otherLow = words[2 * middle]!
    if (otherHigh === high && otherLow === low) return middle
    if (otherHigh < high || (otherHigh === high && otherLow < low)) from = middle + 1
    else to = middle - 1
  }
  return -1
}
