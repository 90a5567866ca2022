/** @file Numbers as text and back, on bytes: what a table file is made of. Floats come back as the float32 they were. */

const [SPACE, NEWLINE, TAB, RETURN, MINUS, PLUS, POINT, ZERO, NINE, LETTER_E] = [32, 10, 9, 13, 45, 43, 46, 48, 57, 101]
const POWERS = Array.from({ length: 23 }, (_, i) => 10 ** i)
/** Bytes that one float takes at most. */
export const FLOAT_BYTES = 16

/** Writes the shortest of 7 to 9 digits that reads back as the same float32; returns where it ends. */
export function writeFloat(value: number, out: Uint8Array, start: number): number {
  let at = start
  if (value === 0) {
    out[at] = ZERO
    return at + 1
  }
  if (!Number.isFinite(value)) return writeAscii(Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf', out, at)
  const size = Math.abs(value)
  if (value < 0) out[at++] = MINUS
  if (Number.isInteger(size) && size < 1e9) return writeDigits(size, digitsOf(size), out, at)
  const exponent = exponentOf(size)
  // Second moments are as small as this, half of all numbers of a model that Adam trains.
  if (exponent < LEAST_EXPONENT || exponent > 12) return writeAscii(shortest(size), out, at)
  if (exponent < -12) return writeTiny(size, exponent, out, at)
  for (let digits = 7; ; digits++) {
    const shift = digits - 1 - exponent
    const scaled = ((shift >= 0 ? size * POWERS[shift]! : size / POWERS[-shift]!) + 0.5) | 0
    const back = shift >= 0 ? scaled / POWERS[shift]! : scaled * POWERS[-shift]!
    if (digits < 9 && Math.fround(back) !== size) continue
    if (Math.fround(back) !== size) return writeAscii(shortest(size), out, at)
    return writeScaled(scaled, shift, out, at)
  }
}

/** The largest power of ten that is not above a float32. */
function exponentOf(size: number): number {
  FLOAT[0] = size
  // From the power of two it is this one or the next.
  const least = Math.floor(((BITS[0]! >>> 23) - 127) * LOG10_OF_2)
  return size >= POWERS_AROUND[least + 1 - LEAST_POWER]! ? least + 1 : least
}

const LEAST_POWER = -46
/** Of all float32. */
const POWERS_AROUND = Float64Array.from({ length: 86 }, (_, i) => Number(`1e${i + LEAST_POWER}`))

const FLOAT = new Float32Array(1)
const BITS = new Uint32Array(FLOAT.buffer)
const LOG10_OF_2 = Math.log10(2)

/** Below what powers of ten of a float64 are exact for: the product of two of them is off by so little, which is allowed for. */
function writeTiny(size: number, exponent: number, out: Uint8Array, at: number): number {
  for (let digits = 7; digits <= 9; digits++) {
    const shift = digits - 1 - exponent
    const [first, second] = [POWERS[Math.min(shift, MOST_POWER)]!, POWERS[Math.max(0, shift - MOST_POWER)]!]
    const scaled = (size * first * second + 0.5) | 0
    const back = scaled / second / first
    const isSame = Math.fround(back * (1 - OFF)) === size && Math.fround(back * (1 + OFF)) === size
    if (isSame) return writeScaled(scaled, shift, out, at)
  }
  return writeAscii(shortest(size), out, at)
}

const LEAST_EXPONENT = -37 // below are float32 with fewer digits
const MOST_POWER = 22
const OFF = 2 ** -50

/** The digits of `scaled`, which has at most ten, with the decimal point `shift` places from their end. */
function writeScaled(scaled: number, shift: number, out: Uint8Array, start: number): number {
  // As a whole number of 32 bits, since arithmetic on those is several times faster.
  let [value, places, at] = [scaled | 0, shift, start]
  while (places > 0 && value % 10 === 0) {
    value = (value / 10) | 0
    places--
  }
  if (places <= 0) return writeDigits(value * POWERS[-places]!, digitsOf(value * POWERS[-places]!), out, at)
  const digits = digitsOf(value)
  if (places - digits > 4) {
    // Small numbers: d.ddde-x
    at = writeScaled(value, digits - 1, out, at)
    out[at++] = LETTER_E
    out[at++] = MINUS
    const power = places - digits + 1
    return writeSmall(power, digitsOf(power), out, at)
  }
  // 0.ddd begins with zeros that the digits do not have.
  const whole = places > 9 ? 0 : (value / POWERS[places]!) | 0
  at = writeSmall(whole, digitsOf(whole), out, at)
  out[at++] = POINT
  return writeSmall(whole === 0 ? value : value - whole * POWERS[places]!, places, out, at)
}

function digitsOf(value: number): number {
  let digits = 1
  while (digits < 22 && value >= POWERS[digits]!) digits++
  return digits
}

/** Of a number of 31 bits. */
function writeSmall(value: number, digits: number, out: Uint8Array, at: number): number {
  let left = value | 0
  for (let i = at + digits - 1; i >= at; i--) {
    const next = (left / 10) | 0
    out[i] = ZERO + (left - Math.imul(next, 10))
    left = next
  }
  return at + digits
}

function writeDigits(value: number, digits: number, out: Uint8Array, at: number): number {
  let left = value
  for (let i = at + digits - 1; i >= at; i--) {
    const next = Math.floor(left / 10)
    out[i] = ZERO + (left - next * 10)
    left = next
  }
  return at + digits
}

function shortest(size: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = size.toPrecision(digits)
    if (Math.fround(Number(text)) === size) return text
  }
  return size.toPrecision(9)
}

function writeAscii(text: string, out: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i)
  return at + text.length
}

/** Writes an unsigned 64-bit number given as halves. */
export function writeSign(low: number, high: number, out: Uint8Array, at: number): number {
  if (high === 0) return writeDigits(low, digitsOf(low), out, at)
  return writeAscii(((BigInt(high) << 32n) | BigInt(low)).toString(), out, at)
}

/** Reads lines of one sign and some floats out of a block of bytes. */
export class LineParser {
  /** The last line's sign, as little-endian halves. */
  readonly sign = new Uint32Array(2)
  readonly values: Float32Array
  /** Values of the last line; -1: it cannot be read. */
  count = 0

  constructor(maxValues: number) {
    this.values = new Float32Array(maxValues)
  }

  /** Reads the line from `start` to its end at `end` (not included); false for an empty one. */
  parse(bytes: Uint8Array, start: number, end: number): boolean {
    let at = skipSpace(bytes, start, end)
    if (at >= end) return false
    at = this.#sign(bytes, at, end)
    this.count = at < 0 ? -1 : 0
    while (at >= 0) {
      at = skipSpace(bytes, at, end)
      if (at >= end) break
      const next = wordEnd(bytes, at, end)
      if (this.count === this.values.length) {
        this.count++
        break
      }
      const value = parseFloatAt(bytes, at, next)
      // Text that is no number: only these three are not finite on purpose.
      if (Number.isNaN(value) && ascii(bytes, at, next).toLowerCase().replace('-', '') !== 'nan') {
        this.count = -1
        break
      }
      this.values[this.count++] = value
      at = next
    }
    return true
  }

  /** Returns where the digits end, -1 where there are none or too many. */
  #sign(bytes: Uint8Array, start: number, end: number): number {
    let [low, high, at] = [0, 0, start]
    for (; at < end && bytes[at]! >= ZERO && bytes[at]! <= NINE; at++) {
      const sum = low * 10 + (bytes[at]! - ZERO)
      low = sum >>> 0
      high = high * 10 + Math.floor(sum / 2 ** 32)
    }
    this.sign[0] = low
    this.sign[1] = high
    return at === start || high >= 2 ** 32 || (at < end && bytes[at]! > SPACE) ? -1 : at
  }
}

function skipSpace(bytes: Uint8Array, at: number, end: number): number {
  let next = at
  while (
    next < end &&
    (bytes[next] === SPACE || bytes[next] === TAB || bytes[next] === RETURN || bytes[next] === NEWLINE)
  )
    next++
  return next
}

function wordEnd(bytes: Uint8Array, at: number, end: number): number {
  let next = at
  while (next < end && bytes[next]! > SPACE) next++
  return next
}

/** A float in [start, end): exact for up to 15 digits and small exponents, else as JavaScript reads it. */
function parseFloatAt(bytes: Uint8Array, start: number, end: number): number {
  let [at, digits, places, value] = [start, 0, 0, 0]
  const negative = bytes[at] === MINUS
  if (negative || bytes[at] === PLUS) at++
  let point = false
  for (; at < end; at++) {
    const byte = bytes[at]!
    if (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO)
      digits++
      if (point) places++
    } else if (byte === POINT && !point) point = true
    else break
  }
  let exponent = -places
  if (at < end && (bytes[at]! | 32) === LETTER_E) {
    at++
    const minus = bytes[at] === MINUS
    if (minus || bytes[at] === PLUS) at++
    if (at === end) return Number.NaN
    let power = 0
    for (; at < end && bytes[at]! >= ZERO && bytes[at]! <= NINE; at++) power = power * 10 + (bytes[at]! - ZERO)
    exponent += minus ? -power : power
  }
  if (at !== end || digits === 0 || digits > 15 || exponent < -22 || exponent > 22)
    return slowFloat(ascii(bytes, start, end))
  const size = exponent < 0 ? value / POWERS[-exponent]! : value * POWERS[exponent]!
  return negative ? -size : size
}

function slowFloat(text: string): number {
  const infinite = /^([+-]?)inf(inity)?$/i.exec(text)
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return /^[+-]?\d*\.?\d+(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
}

function ascii(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, Math.min(end, start + 64)))
}
