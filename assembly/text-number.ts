/**
 * @file Numbers in text, eight characters at a time. Text is followed by white space and at least 16 readable bytes.
 * Each store function stores the number at p and returns where it ends, at white space; 0 when it is not such a number.
 */

export const NEWLINE: u32 = 10
const POINT: u32 = 46
const MINUS: u32 = 45
const PLUS: u32 = 43

const POWERS = memory.data<f64>([
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
])
const INTEGER_POWERS = memory.data<u64>([1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000])

/** Decimals the fast path cannot round with certainty: rare, so the host's own parser does them. */
@external("env", "decimal")
declare function hostDecimal(position: usize, length: usize): f64

/** Digits scanned by scanDigits. */
let mantissa: u64 = 0

/** Space, tab, CR, LF, VT, FF. */
// @ts-ignore: decorator
@inline
export function endsValue(c: u32): bool {
  return c <= 32 && ((<u64>0x100003e00 >> <u64>c) & 1) != 0
}

/** The next byte that is not white space within the line. */
// @ts-ignore: decorator
@inline
export function skipSpace(p: usize): usize {
  let c = <u32>load<u8>(p)
  while (c != NEWLINE && endsValue(c)) c = <u32>load<u8>(++p)
  return p
}

// Eight characters at once: `word` holds character - '0'; a byte above 9 marks the end of the number.
// @ts-ignore: decorator
@inline
function wordAt(p: usize): u64 {
  return load<u64>(p) ^ 0x3030303030303030
}
// @ts-ignore: decorator
@inline
function notDigits(word: u64): u64 {
  return ((word + 0x7676767676767676) | word) & 0x8080808080808080
}
/** The value of eight digits, most significant first in memory. */
// @ts-ignore: decorator
@inline
function joinDigits(word: u64): u64 {
  word = word * 10 + (word >> 8)
  return (((word & 0x000000ff000000ff) * 0x000f424000000064 + ((word >> 16) & 0x000000ff000000ff) * 0x0000271000000001) >> 32) & 0xffffffff
}

/** An unsigned 64-bit number. */
// @ts-ignore: decorator
@inline
export function storeUnsigned(p: usize, target: usize): usize {
  const word = wordAt(p)
  const odd = notDigits(word)
  if (odd == 0) return storeLongUnsigned(p, word, target)
  const bits = ctz(odd) - 7
  const end = p + <usize>(bits >> 3)
  if (bits == 0 || !endsValue(<u32>load<u8>(end))) return 0
  store<u64>(target, joinDigits(word << (64 - bits)))
  return end
}

/** Eight digits or more, the first eight given. */
function storeLongUnsigned(p: usize, first: u64, target: usize): usize {
  let value = joinDigits(first)
  p += 8
  const word = wordAt(p)
  const odd = notDigits(word)
  const bits = odd == 0 ? 64 : ctz(odd) - 7
  if (bits != 0) value = value * load<u64>(INTEGER_POWERS + <usize>bits) + joinDigits(word << (64 - bits))
  p += <usize>(bits >> 3)
  if (odd == 0) {
    let digit = <u64>load<u8>(p) - 48
    while (digit <= 9) {
      if (value > 1844674407370955161 || (value == 1844674407370955161 && digit > 5)) return 0
      value = value * 10 + digit
      digit = <u64>load<u8>(++p) - 48
    }
  }
  store<u64>(target, value)
  return endsValue(<u32>load<u8>(p)) ? p : 0
}

export function storeSigned(p: usize, target: usize): usize {
  const negative = <u32>load<u8>(p) == MINUS
  const end = storeUnsigned(negative ? p + 1 : p, target)
  const value = load<u64>(target)
  if (end == 0 || value > <u64>i64.MAX_VALUE + u64(negative)) return 0
  if (negative) store<i64>(target, 0 - <i64>value)
  return end
}

/** A decimal as the nearest float32; `d.ddd` with up to seven decimals and seven digits here, everything else below. */
// @ts-ignore: decorator
@inline
export function storeDecimal(p: usize, target: usize): usize {
  const whole = <u32>load<u8>(p) - 48
  if (whole <= 9) {
    const next = <u32>load<u8>(p, 1)
    if (next == POINT) {
      const word = wordAt(p + 2)
      const odd = notDigits(word)
      const bits = ctz(odd) - 7
      const end = p + 2 + <usize>(bits >> 3)
      if (odd != 0 && bits != 0 && endsValue(<u32>load<u8>(end))) {
        const power = load<f64>(POWERS + <usize>bits)
        store<f32>(target, <f32>((<f64>whole * power + <f64>joinDigits(word << (64 - bits))) / power))
        return end
      }
    } else {
      const word = wordAt(p)
      const odd = notDigits(word)
      const bits = ctz(odd) - 7
      const end = p + <usize>(bits >> 3)
      if (odd != 0 && endsValue(<u32>load<u8>(end))) {
        store<f32>(target, <f32><i64>joinDigits(word << (64 - bits)))
        return end
      }
    }
  }
  return storeAnyDecimal(p, target)
}

/**
 * Up to 19 digits and powers of ten up to 22 need one rounding of the mantissa and one of the scaling: the float64 is off by
 * 2 ulp at most, which changes the float32 only next to a tie between two of them. Ties and everything else go to the host.
 */
function storeAnyDecimal(from: usize, target: usize): usize {
  let p = from
  const sign = <u32>load<u8>(p)
  if (sign == MINUS || sign == PLUS) ++p
  const begin = p
  p = scanDigits(p, 0)
  let digits = p - begin
  let exponent: i32 = 0
  if (<u32>load<u8>(p) == POINT) {
    const fraction = p + 1
    p = scanDigits(fraction, mantissa)
    exponent = -(<i32>(p - fraction))
    digits += p - fraction
  }
  if (digits == 0) return 0
  if (((<u32>load<u8>(p)) | 32) == 101) {
    p += 1
    const exponentSign = <u32>load<u8>(p)
    if (exponentSign == MINUS || exponentSign == PLUS) ++p
    const start = p
    let power: i32 = 0
    let digit = <u32>load<u8>(p) - 48
    while (digit <= 9) {
      power = min(power * 10 + <i32>digit, 99999)
      digit = <u32>load<u8>(++p) - 48
    }
    if (p == start) return 0
    exponent += exponentSign == MINUS ? -power : power
  }
  if (!endsValue(<u32>load<u8>(p))) return 0

  let value: f64
  if (digits > 19 || exponent < -22 || exponent > 22) value = hostDecimal(begin, p - begin)
  else {
    value = exponent < 0 ? <f64>mantissa / load<f64>(POWERS - <usize>(exponent << 3)) : <f64>mantissa * load<f64>(POWERS + <usize>(exponent << 3))
    if (mantissa > 9007199254740992) {
      const toTie = (reinterpret<u64>(value) & 0x1fffffff) - 0x10000000
      if (toTie + 8 <= 16 || value < 1.1754943508222875e-38) value = hostDecimal(begin, p - begin)
    }
  }
  const result = <f32>(sign == MINUS ? -value : value)
  if (!isFinite(result)) return 0
  store<f32>(target, result)
  return p
}

/** Appends the digits at p to `start` (modulo 2^64), leaves them in `mantissa` and returns where they end. */
function scanDigits(p: usize, start: u64): usize {
  mantissa = start
  let word = wordAt(p)
  let odd = notDigits(word)
  while (odd == 0) {
    mantissa = mantissa * 100000000 + joinDigits(word)
    p += 8
    word = wordAt(p)
    odd = notDigits(word)
  }
  const bits = ctz(odd) - 7
  if (bits == 0) return p
  mantissa = mantissa * load<u64>(INTEGER_POWERS + <usize>bits) + joinDigits(word << (64 - bits))
  return p + <usize>(bits >> 3)
}
