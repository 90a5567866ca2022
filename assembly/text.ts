/**
 * @file Text kernel: lines of slot text and of MultiSlot text, parsed in place to sample-major columns.
 * src/kernel/text.ts lays out the private memory, src/kernel/text-reference.ts is the plain version with the same results.
 * The text given is whole lines, each ended by a newline, followed by at least 32 readable bytes.
 */

/** What src/kernel/text.ts fills in (pointers and sizes) and reads back (results). Field order is the interface. */
@unmanaged
class State {
  // results of the last call
  samples: u32
  signs: u32
  lines: u32
  position: u32
  errorCode: u32
  errorPosition: u32
  errorSlot: u32
  errorCount: u32
  ignored: u32
  // layout
  sparseSlots: u32
  slots: u32
  maxSamples: u32
  maxSigns: u32
  maxIgnored: u32
  counts: u32
  starts: u32
  signData: u32
  records: u32
  ignoredRecords: u32
  /** Room for pointers to the dense ones among the records. */
  denseRecords: u32
  hash: u32
  hashMask: u32
  tokenSlots: u32
  tokenSigns: u32
  /** 1: count bad lines and go on. */
  skipBad: u32
  skipped: u32
}

/** One declared slot, or a slot found in the text that is not declared (kind IGNORED). */
@unmanaged
class Slot {
  kind: u32
  /** Among the sparse slots for SPARSE. */
  index: u32
  /** Bytes of `name:`; the first 16 as two words with their masks, all of it at `name`. */
  word0: u64
  mask0: u64
  word1: u64
  mask1: u64
  length: u32
  name: u32
  /** The slot that last followed this one: the first guess for the next token. */
  next: u32
  width: u32
  /** Output column of a dense slot. */
  column: u32
  /** Values seen in this line, and where the first one stands. */
  seen: u32
  first: u32
  number: u32
}

const SPARSE: u32 = 0
const FLOAT: u32 = 1
const INTEGER: u32 = 2
const IGNORED: u32 = 3

const DONE: u32 = 0
const FULL: u32 = 1
const BAD: u32 = 2

const NO_COLON: u32 = 1
// In the order of the kinds of slots.
const NOT_SIGN: u32 = 2
const NOT_FLOAT: u32 = 3
const NOT_INTEGER: u32 = 4
const WRONG_WIDTH: u32 = 5
const BAD_COUNT: u32 = 6
const TOO_SHORT: u32 = 7
const TOO_LONG: u32 = 8

const NEWLINE: u32 = 10
const COLON: u32 = 58
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

let state: State = changetype<State>(0)
let slots: usize = 0
let slotsEnd: usize = 0
let denseList: usize = 0
let denseListEnd: usize = 0
/** Where a line ended, and other places a function returns besides its result. */
let lineEnd: usize = 0
/** Digits scanned by scanDigits. */
let mantissa: u64 = 0
/** The slot that started the last line. */
let firstSlot: usize = 0

/** The first byte that the layout may use. */
export function heapBase(): usize {
  return __heap_base
}

export function configure(at: usize): void {
  state = changetype<State>(at)
  slots = state.records
  slotsEnd = slots + state.slots * offsetof<Slot>()
  firstSlot = slots
  denseList = state.denseRecords
  denseListEnd = denseList
  for (let s = slots; s < slotsEnd; s += offsetof<Slot>()) {
    remember(s)
    if (changetype<Slot>(s).kind == SPARSE) continue
    store<u32>(denseListEnd, <u32>s)
    denseListEnd += 4
  }
}

/** Parses lines `slot:value slot:value ...` in [from, to) until they end, the output is full or a line is bad. */
export function parseSlotText(from: usize, to: usize): u32 {
  begin()
  let p = from
  while (p < to) {
    const line = p
    p = skipSpace(p)
    if (<u32>load<u8>(p) != NEWLINE) {
      if (state.samples == state.maxSamples) return finish(FULL, line)
      const status = slotLine(p)
      if (status == BAD && state.skipBad != 0) skipLine(p)
      else if (status != DONE) return finish(status, line)
      p = lineEnd
    }
    p += 1
    state.lines += 1
  }
  return finish(DONE, p)
}

/** The same for lines `count value ... count value ...`, slots in declared order. */
export function parseMultiSlotText(from: usize, to: usize): u32 {
  begin()
  let p = from
  while (p < to) {
    const line = p
    p = skipSpace(p)
    if (<u32>load<u8>(p) != NEWLINE) {
      if (state.samples == state.maxSamples) return finish(FULL, line)
      const status = multiSlotLine(p)
      if (status == BAD && state.skipBad != 0) skipLine(p)
      else if (status != DONE) return finish(status, line)
      p = lineEnd
    }
    p += 1
    state.lines += 1
  }
  return finish(DONE, p)
}

function begin(): void {
  state.samples = 0
  state.signs = 0
  state.lines = 0
  state.skipped = 0
  store<u32>(state.starts, 0)
}

function finish(status: u32, position: usize): u32 {
  state.position = <u32>position
  return status
}

function skipLine(p: usize): void {
  while (<u32>load<u8>(p) != NEWLINE) ++p
  state.skipped += 1
  lineEnd = p
}

function fail(code: u32, position: usize, slot: usize, count: u32): u32 {
  state.errorCode = code
  state.errorPosition = <u32>position
  state.errorSlot = slot == 0 ? 0 : changetype<Slot>(slot).number
  state.errorCount = count
  return BAD
}

// ---------------------------------------------------------------- slot text

/** One line from its first token on; leaves `lineEnd` at its newline. */
function slotLine(from: usize): u32 {
  const sparseSlots = state.sparseSlots
  const counts: usize = state.counts + state.samples * sparseSlots * 4
  const signBase: usize = state.signData + state.signs * 8
  const signEnd: usize = state.signData + state.maxSigns * 8
  clearWords(counts, sparseSlots)
  for (let d = denseList; d < denseListEnd; d += 4) changetype<Slot>(load<u32>(d)).seen = 0

  let signs = signBase
  let token: usize = state.tokenSlots
  let present: u32 = 0
  let last: u32 = 0
  let ordered = true
  let current: usize = 0
  let p = from
  do {
    // Tokens mostly come as in the line before: two guesses, and a hash only when both are wrong.
    let next: usize = firstSlot
    let other: usize = firstSlot
    if (current != 0) {
      const before = changetype<Slot>(current)
      const again = before.seen < before.width
      next = again ? current : <usize>before.next
      other = again ? <usize>before.next : current
    }
    if (!matches(next, p)) {
      next = matches(other, p) ? other : find(p)
      if (next == 0) return fail(NO_COLON, p, 0, 0)
    }
    if (current == 0) firstSlot = next
    else if (next != current) changetype<Slot>(current).next = <u32>next
    current = next

    const slot = changetype<Slot>(current)
    const kind = slot.kind
    const at = p + slot.length
    if (kind == SPARSE) {
      if (signs == signEnd) return FULL
      p = storeUnsigned(at, signs)
      if (p == 0) return fail(NOT_SIGN, at, current, 0)
      signs += 8
      const index = slot.index
      store<u32>(token, index)
      token += 4
      const seen = load<u32>(counts + index * 4)
      store<u32>(counts + index * 4, seen + 1)
      present += u32(seen == 0)
      ordered = ordered && index >= last
      last = index
    } else if (kind == IGNORED) {
      p = at
      while (!endsValue(<u32>load<u8>(p))) p += 1
    } else {
      p = storeDense(at, current)
      if (p == 0) return fail(NOT_SIGN + kind, at, current, 0)
    }
    p = skipSpace(p)
  } while (<u32>load<u8>(p) != NEWLINE)

  if (!ordered || present < sparseSlots) {
    signs = arrange(counts, signBase, signs, signEnd)
    if (signs == 0) return FULL
  }
  const status = closeDense()
  if (status != DONE) return status
  closeSample(signs, p)
  return DONE
}

// @ts-ignore: decorator
@inline
function closeSample(signs: usize, end: usize): void {
  state.signs = <u32>((signs - state.signData) >> 3)
  state.samples += 1
  store<u32>(state.starts + state.samples * 4, state.signs)
  lineEnd = end
}

/** Zeroes `length` u32; may zero up to three more behind them, which are not in use yet. */
// @ts-ignore: decorator
@inline
function clearWords(at: usize, length: u32): void {
  for (let end = at + length * 4; at < end; at += 16) v128.store(at, i32x4.splat(0))
}

/** Appends one value to a dense slot; values beyond its width are only counted. Returns where the value ends, 0 if it is bad. */
// @ts-ignore: decorator
@inline
function storeDense(at: usize, current: usize): usize {
  const slot = changetype<Slot>(current)
  const seen = slot.seen
  if (seen == 0) slot.first = <u32>at
  slot.seen = seen + 1
  const isFloat = slot.kind == FLOAT
  const cell = state.samples * slot.width + seen
  const target: usize = seen < slot.width ? slot.column + (cell << (isFloat ? 2 : 3)) : state.tokenSigns
  return isFloat ? storeDecimal(at, target) : storeSigned(at, target)
}

/** Fills dense slots that did not appear with zeros and refuses a wrong number of values. */
function closeDense(): u32 {
  for (let d = denseList; d < denseListEnd; d += 4) {
    const at: usize = load<u32>(d)
    const slot = changetype<Slot>(at)
    if (slot.seen == slot.width) continue
    if (slot.seen != 0) return fail(WRONG_WIDTH, slot.first, at, slot.seen)
    const bytes = slot.width * (slot.kind == FLOAT ? 4 : 8)
    memory.fill(slot.column + state.samples * bytes, 0, bytes)
  }
  return DONE
}

/** Puts a line's signs in slot order, with sign 0 for slots that did not appear. Returns the new end, 0 if there is no room. */
function arrange(counts: usize, from: usize, to: usize, limit: usize): usize {
  const tokens = <u32>((to - from) >> 3)
  const copy: usize = state.tokenSigns
  const offsets: usize = copy + tokens * 8
  memory.copy(copy, from, to - from)
  let at = from
  for (let s: u32 = 0; s < state.sparseSlots; ++s) {
    store<u32>(offsets + s * 4, <u32>at)
    let count = load<u32>(counts + s * 4)
    if (count == 0) {
      if (at + 8 > limit) return 0
      store<u64>(at, 0)
      store<u32>(counts + s * 4, 1)
      count = 1
    }
    at += count * 8
    if (at > limit) return 0
  }
  for (let t: u32 = 0; t < tokens; ++t) {
    const offset = offsets + load<u32>(state.tokenSlots + t * 4) * 4
    const place = load<u32>(offset)
    store<u64>(place, load<u64>(copy + t * 8))
    store<u32>(offset, place + 8)
  }
  return at
}

// @ts-ignore: decorator
@inline
function matches(at: usize, p: usize): bool {
  const slot = changetype<Slot>(at)
  if ((load<u64>(p) & slot.mask0) != slot.word0 || (load<u64>(p, 8) & slot.mask1) != slot.word1) return false
  return slot.length <= 16 || memory.compare(p + 16, slot.name + 16, slot.length - 16) == 0
}

/** The slot whose name stands at p; an undeclared one is noted as ignored. 0 when there is no `name:`. */
function find(p: usize): usize {
  let end = p
  while (<u32>load<u8>(end) != COLON) {
    if (endsValue(<u32>load<u8>(end))) return 0
    end += 1
  }
  const length = <u32>(end + 1 - p)
  let place = hashOf(p, length) & state.hashMask
  while (true) {
    const at: usize = load<u32>(state.hash + place * 4)
    if (at == 0) break
    const slot = changetype<Slot>(at)
    if (slot.length == length && memory.compare(slot.name, p, length) == 0) return at
    place = (place + 1) & state.hashMask
  }
  return ignore(p, length)
}

/** Notes an undeclared name, so that it is found next time and reported once. The last record is spare: it is used again. */
function ignore(p: usize, length: u32): usize {
  const spare = state.ignored >= state.maxIgnored || length > 256
  const number = spare ? state.maxIgnored : state.ignored
  const at: usize = state.ignoredRecords + number * (offsetof<Slot>() + 256)
  const slot = changetype<Slot>(at)
  slot.kind = IGNORED
  slot.length = length
  slot.width = 0
  slot.seen = 0
  slot.next = <u32>at
  slot.name = <u32>(at + offsetof<Slot>())
  // Never matched by guess: names are compared as a whole through the hash.
  slot.word0 = 1
  slot.mask0 = 0
  if (!spare) {
    memory.copy(slot.name, p, length)
    slot.number = number
    state.ignored += 1
    remember(at)
  }
  return at
}

function remember(at: usize): void {
  const slot = changetype<Slot>(at)
  let place = hashOf(slot.name, slot.length) & state.hashMask
  while (load<u32>(state.hash + place * 4) != 0) place = (place + 1) & state.hashMask
  store<u32>(state.hash + place * 4, <u32>at)
}

/** FNV-1a. */
function hashOf(p: usize, length: u32): u32 {
  let hash: u32 = 0x811c9dc5
  for (let i: u32 = 0; i < length; ++i) hash = (hash ^ <u32>load<u8>(p + i)) * 0x01000193
  return hash ^ (hash >> 15)
}

// ---------------------------------------------------------------- MultiSlot text

function multiSlotLine(from: usize): u32 {
  const counts: usize = state.counts + state.samples * state.sparseSlots * 4
  let signs: usize = state.signData + state.signs * 8
  const signEnd: usize = state.signData + state.maxSigns * 8
  let p = from
  for (let s = slots; s < slotsEnd; s += offsetof<Slot>()) {
    const slot = changetype<Slot>(s)
    const kind = slot.kind
    p = skipSpace(p)
    const count = countAt(p)
    if (count == 0) return fail(<u32>load<u8>(p) == NEWLINE ? TOO_SHORT : BAD_COUNT, p, s, 0)
    if (kind != SPARSE && count != slot.width) return fail(WRONG_WIDTH, p, s, count)
    slot.seen = 0
    p = lineEnd
    for (let i: u32 = 0; i < count; ++i) {
      const at = skipSpace(p)
      if (kind == SPARSE) {
        if (signs == signEnd) return FULL
        p = storeUnsigned(at, signs)
        signs += 8
      } else p = storeDense(at, s)
      if (p == 0) return <u32>load<u8>(at) == NEWLINE ? fail(TOO_SHORT, at, s, i) : fail(NOT_SIGN + kind, at, s, 0)
    }
    if (kind == SPARSE) store<u32>(counts + slot.index * 4, count)
  }
  p = skipSpace(p)
  if (<u32>load<u8>(p) != NEWLINE) return fail(TOO_LONG, p, 0, 0)
  closeSample(signs, p)
  return DONE
}

/** The number of values at p, 1 to 2^31-1, leaving `lineEnd` behind it; 0 if there is none such. */
// @ts-ignore: decorator
@inline
function countAt(p: usize): u32 {
  if (<u32>load<u16>(p) == 0x2031) {
    lineEnd = p + 2
    return 1
  }
  lineEnd = storeUnsigned(p, state.tokenSigns)
  const count = load<u64>(state.tokenSigns)
  return lineEnd == 0 || count > 0x7fffffff ? 0 : <u32>count
}

// ---------------------------------------------------------------- characters and numbers

/** Space, tab, CR, LF, VT, FF. */
// @ts-ignore: decorator
@inline
function endsValue(c: u32): bool {
  return c <= 32 && ((<u64>0x100003e00 >> <u64>c) & 1) != 0
}

/** The next byte that is not white space within the line. */
// @ts-ignore: decorator
@inline
function skipSpace(p: usize): usize {
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

// Each of the following stores the number at p and returns where it ends: at white space. 0 when it is not such a number.

/** An unsigned 64-bit number. */
// @ts-ignore: decorator
@inline
function storeUnsigned(p: usize, target: usize): usize {
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

function storeSigned(p: usize, target: usize): usize {
  const negative = <u32>load<u8>(p) == MINUS
  const end = storeUnsigned(negative ? p + 1 : p, target)
  const value = load<u64>(target)
  if (end == 0 || value > <u64>i64.MAX_VALUE + u64(negative)) return 0
  if (negative) store<i64>(target, 0 - <i64>value)
  return end
}

/** A decimal as the nearest float32; `d.ddd` with up to seven decimals here, everything else below. */
// @ts-ignore: decorator
@inline
function storeDecimal(p: usize, target: usize): usize {
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
    } else if (endsValue(next)) {
      store<f32>(target, <f32>whole)
      return p + 1
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
