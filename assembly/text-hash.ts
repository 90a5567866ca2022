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

/** Both lanes, a below b, after the decimal digits of an id. */
export function lanesOfDigits(id: u64, a: u32, b: u32): u64 {
  const lanes = <u64>a | (<u64>b << 32)
  if (id < 100000000) return addFirst(<u32>id, lanes)
  const upper = id / 100000000
  const low = <u32>(id - upper * 100000000)
  if (upper < 100000000) return addDigits(eightDigits(low), 8, addFirst(<u32>upper, lanes))
  const top = upper / 100000000
  const middle = <u32>(upper - top * 100000000)
  return addDigits(eightDigits(low), 8, addDigits(eightDigits(middle), 8, addFirst(<u32>top, lanes)))
}

/** Without zeros in front; 0 is one digit. */
function addFirst(value: u32, lanes: u64): u64 {
  const digits = eightDigits(value)
  const zeros = min<u64>(ctz(digits) >> 3, 7)
  return addDigits(digits >> (zeros << 3), <u32>(8 - zeros), lanes)
}

/** The digits of a number below 10^8, a byte each, the first one lowest: halves, then quarters, then all at once. */
// @ts-ignore: decorator
@inline
function eightDigits(value: u32): u64 {
  const upper = value / 10000
  const halves = <u64>upper | (<u64>(value - upper * 10000) << 32)
  const hundreds = ((halves * 10486) >> 20) & 0x0000007f0000007f
  const quarters = ((halves - hundreds * 100) << 16) + hundreds
  const tens = ((quarters * 103) >> 10) & 0x000f000f000f000f
  return ((quarters - tens * 10) << 8) + tens
}

function addDigits(digits: u64, count: u32, lanes: u64): u64 {
  let a = <u32>lanes
  let b = <u32>(lanes >> 32)
  for (; count > 0; --count) {
    const key = load<u32>(KEYS + <usize>((digits & 0xff) << 2))
    a = rotl(a ^ key, 13) * 5 + 0xe6546b64
    b = rotl(b ^ key, 13) * 5 + 0xe6546b64
    digits >>= 8
  }
  return <u64>a | (<u64>b << 32)
}

// @ts-ignore: decorator
@inline
function finished(hash: u32): u32 {
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35
  return hash ^ (hash >> 16)
}

/** 53 bits of the lanes, modulo `buckets`: a product with its inverse finds the quotient or a neighbour of it. */
// @ts-ignore: decorator
@inline
export function bucketOf(lanes: u64, buckets: u64, inverse: f64): u64 {
  const bits = (<u64>(finished(<u32>lanes) >> 11) << 32) | <u64>finished(<u32>(lanes >> 32))
  const rest = <i64>bits - <i64>(<f64>bits * inverse) * <i64>buckets
  return <u64>(rest < 0 ? rest + <i64>buckets : rest >= <i64>buckets ? rest - <i64>buckets : rest)
}
