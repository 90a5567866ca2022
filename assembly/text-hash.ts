/** @file The hash of declared features: src/data/features/feature.ts is the plain version with the same results. */

/** A murmur3 step. */
// @ts-ignore: decorator
@inline
export function step(hash: u32, word: u32): u32 {
  return rotl(hash ^ keyOf(word), 13) * 5 + 0xe6546b64
}

// @ts-ignore: decorator
@inline
function keyOf(word: u32): u32 {
  return rotl(word * 0xcc9e2d51, 15) * 0x1b873593
}

/** What each of the ten digits adds to a step: two multiplications fewer. */
const KEYS = memory.data(40, 4)

export function digitKeys(): void {
  for (let digit: u32 = 0; digit < 10; ++digit) store<u32>(KEYS + digit * 4, keyOf(48 + digit))
}

/** Of the decimal digits of an id, from lanes a and b on, modulo `buckets`. */
export function hashOfDigits(id: u64, a: u32, b: u32, buckets: u64, inverse: f64): u64 {
  let part = id
  let behind: u32 = 0
  if (id >= 100000000) {
    const upper = id / 100000000
    behind = upper < 100000000 ? 1 : 2
    part = behind == 1 ? upper : upper / 100000000
  }
  let digits = eightDigits(<u32>part)
  // No zeros in front; 0 is one digit.
  const zeros = min<u64>(ctz(digits ^ 0x3030303030303030) >> 3, 7)
  digits >>= zeros << 3
  while (true) {
    for (; digits != 0; digits >>= 8) {
      const key = load<u32>(KEYS - 192 + <usize>((digits & 0xff) << 2))
      a = rotl(a ^ key, 13) * 5 + 0xe6546b64
      b = rotl(b ^ key, 13) * 5 + 0xe6546b64
    }
    if (behind == 0) return bucketOf(a, b, buckets, inverse)
    behind -= 1
    digits = eightDigits(<u32>((behind == 0 ? id : id / 100000000) % 100000000))
  }
}

/** The characters of a number below 10^8, the first one lowest: halves, then quarters, then all at once. */
// @ts-ignore: decorator
@inline
function eightDigits(value: u32): u64 {
  const upper = value / 10000
  const halves = <u64>upper | (<u64>(value - upper * 10000) << 32)
  const hundreds = ((halves * 10486) >> 20) & 0x0000007f0000007f
  const quarters = ((halves - hundreds * 100) << 16) + hundreds
  const tens = ((quarters * 103) >> 10) & 0x000f000f000f000f
  return (((quarters - tens * 10) << 8) + tens) | 0x3030303030303030
}

// @ts-ignore: decorator
@inline
function finished(hash: u32): u32 {
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35
  return hash ^ (hash >> 16)
}

/** Added to a double below it, whose whole part then is the lower bits. */
const WHOLE: f64 = 4503599627370496

/** 53 bits of the lanes, modulo `buckets`: a product with its inverse finds the quotient or a neighbour of it, but of very few buckets. */
// @ts-ignore: decorator
@inline
export function bucketOf(a: u32, b: u32, buckets: u64, inverse: f64): u64 {
  return bucketOfFinished(finished(a), finished(b), buckets, inverse)
}

// @ts-ignore: decorator
@inline
export function bucketOfFinished(a: u32, b: u32, buckets: u64, inverse: f64): u64 {
  const bits = (<u64>(a >> 11) << 32) | <u64>b
  const quotient = reinterpret<u64>(<f64><i64>bits * inverse + WHOLE) & 0x000fffffffffffff
  const near = bits - quotient * buckets
  // Rounded up as often as down: no branch could be guessed.
  const rest = near + (<u64>(<i64>near >> 63) & buckets)
  return rest < buckets ? rest : bits % buckets
}
