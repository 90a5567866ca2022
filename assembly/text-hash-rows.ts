/** @file Hashes of four rows at once: what text-hash.ts makes of each. */
import { Op } from "./text-encode"
import { bucketOfFinished } from "./text-hash"

/** The ids of four rows in three parts of eight digits, the upper one first. */
const PARTS = memory.data(48, 16)
const LAST: usize = 32

// Loaded from memory: the engine would build each anew wherever it is used, which takes as long as the arithmetic.
const KEY_1 = memory.data<u32>([0xcc9e2d51, 0xcc9e2d51, 0xcc9e2d51, 0xcc9e2d51], 16)
const KEY_2 = memory.data<u32>([0x1b873593, 0x1b873593, 0x1b873593, 0x1b873593], 16)
const STEP = memory.data<u32>([0xe6546b64, 0xe6546b64, 0xe6546b64, 0xe6546b64], 16)
const FINISH_1 = memory.data<u32>([0x85ebca6b, 0x85ebca6b, 0x85ebca6b, 0x85ebca6b], 16)
const FINISH_2 = memory.data<u32>([0xc2b2ae35, 0xc2b2ae35, 0xc2b2ae35, 0xc2b2ae35], 16)
const LONGEST = memory.data<u32>([99999999, 99999999, 99999999, 99999999], 16)
const INVERSE_10000 = memory.data<u32>([109951163, 109951163, 109951163, 109951163], 16)
const TEN_THOUSANDS = memory.data<u32>([10000, 10000, 10000, 10000], 16)
const INVERSE_100 = memory.data<u32>([10486, 10486, 10486, 10486], 16)
const HUNDREDS = memory.data<u32>([100, 100, 100, 100], 16)
const INVERSE_10 = memory.data<u32>([6750311, 6750311, 6750311, 6750311], 16)
const TENS = memory.data<u32>([655370, 655370, 655370, 655370], 16)
const BYTES = memory.data<u32>([0xff, 0xff, 0xff, 0xff], 16)
const ZERO = memory.data<u32>([0x30, 0x30, 0x30, 0x30], 16)
const ZEROS = memory.data<u32>([0x30303030, 0x30303030, 0x30303030, 0x30303030], 16)

/** Replaces the ids at the op's place by the hashes of their digits; returns where the rows are that are left. */
export function hashRows(op: Op, at: usize, end: usize): usize {
  const place = op.place * 8
  for (; at + 16 <= end; at += 16) {
    const first = pairAt(load<u32>(at) + place, load<u32>(at, 4) + place)
    const second = pairAt(load<u32>(at, 8) + place, load<u32>(at, 12) + place)
    const low = v128.shuffle<u32>(first, second, 0, 2, 4, 6)
    const long = v128.or(v128.shuffle<u32>(first, second, 1, 3, 5, 7), i32x4.gt_u(low, v128.load(LONGEST)))
    let part: usize = LAST
    if (v128.any_true(long)) {
      for (let i: usize = 0; i < 16; i += 4) splitId(load<u64>(load<u32>(at + i) + place), i)
      part = 0
    } else v128.store(PARTS, low, LAST)
    hashParts(op, part, at)
  }
  return at
}

// @ts-ignore: decorator
@inline
function pairAt(one: usize, other: usize): v128 {
  return v128.load64_lane(other, v128.load64_zero(one), 1)
}

function splitId(id: u64, at: usize): void {
  const upper = id / 100000000
  const top = upper / 100000000
  store<u32>(PARTS + at, <u32>top)
  store<u32>(PARTS + at, <u32>(upper - top * 100000000), 16)
  store<u32>(PARTS + at, <u32>(id - upper * 100000000), LAST)
}

function hashParts(op: Op, part: usize, at: usize): void {
  let a = i32x4.splat(op.a)
  let b = i32x4.splat(op.b)
  // Zeros in front are no digits, but the last one is.
  let isDigit = i32x4.splat(0)
  let isEach = false
  const key1 = v128.load(KEY_1)
  const key2 = v128.load(KEY_2)
  const add = v128.load(STEP)
  const bytes = v128.load(BYTES)
  const zero = v128.load(ZERO)
  for (; part <= LAST; part += 16) {
    const values = v128.load(PARTS + part)
    const first = eightDigits(i64x2.extend_low_i32x4_u(values))
    const second = eightDigits(i64x2.extend_high_i32x4_u(values))
    let digits = v128.or(v128.shuffle<u32>(first, second, 0, 2, 4, 6), v128.load(ZEROS))
    for (let i: usize = 0; i < 8; ++i) {
      if (i == 4) digits = v128.or(v128.shuffle<u32>(first, second, 1, 3, 5, 7), v128.load(ZEROS))
      const digit = v128.and(digits, bytes)
      digits = i32x4.shr_u(digits, 8)
      if (!isEach) {
        isDigit = v128.or(isDigit, i32x4.gt_s(digit, zero))
        isEach = i32x4.all_true(isDigit) || part + i == LAST + 7
        if (!v128.any_true(isDigit) && !isEach) continue
      }
      const key = keysOf(digit, key1, key2)
      const nextA = stepped(a, key, add)
      const nextB = stepped(b, key, add)
      a = isEach ? nextA : v128.xor(a, v128.and(v128.xor(a, nextA), isDigit))
      b = isEach ? nextB : v128.xor(b, v128.and(v128.xor(b, nextB), isDigit))
    }
  }
  storeBuckets(op, at, a, b)
}

/** The digits of two numbers below 10^8, a byte each, the first one lowest: halves, then quarters, then all at once. */
// @ts-ignore: decorator
@inline
function eightDigits(values: v128): v128 {
  const upper = i64x2.shr_u(i64x2.extmul_low_i32x4_u(v128.shuffle<u32>(values, values, 0, 2, 0, 2), v128.load(INVERSE_10000)), 40)
  const lower = i64x2.sub(values, i32x4.mul(upper, v128.load(TEN_THOUSANDS)))
  const halves = v128.or(upper, i64x2.shl(lower, 32))
  const hundreds = i32x4.shr_u(i32x4.mul(halves, v128.load(INVERSE_100)), 20)
  const quarters = i32x4.add(i32x4.shl(i32x4.sub(halves, i32x4.mul(hundreds, v128.load(HUNDREDS))), 16), hundreds)
  const tens = i16x8.shr_u(i16x8.mul(quarters, v128.load(INVERSE_10)), 10)
  return i16x8.add(i16x8.shl(i16x8.sub(quarters, i16x8.mul(tens, v128.load(TENS))), 8), tens)
}

/** Puts the hashes of the combined signs to the op's place; returns where the rows are that are left. */
export function crossRows(op: Op, at: usize, end: usize): usize {
  const listEnd: usize = op.data + op.length * 4
  const key1 = v128.load(KEY_1)
  const key2 = v128.load(KEY_2)
  const add = v128.load(STEP)
  for (; at + 16 <= end; at += 16) {
    let a = i32x4.splat(op.a)
    let b = i32x4.splat(op.b)
    for (let slot: usize = op.data; slot < listEnd; slot += 4) {
      const place = load<u32>(slot) * 8
      const first = pairAt(load<u32>(at) + place, load<u32>(at, 4) + place)
      const second = pairAt(load<u32>(at, 8) + place, load<u32>(at, 12) + place)
      const low = keysOf(v128.shuffle<u32>(first, second, 0, 2, 4, 6), key1, key2)
      const high = keysOf(v128.shuffle<u32>(first, second, 1, 3, 5, 7), key1, key2)
      a = stepped(stepped(a, low, add), high, add)
      b = stepped(stepped(b, low, add), high, add)
    }
    storeBuckets(op, at, a, b)
  }
  return at
}

// @ts-ignore: decorator
@inline
function keysOf(words: v128, key1: v128, key2: v128): v128 {
  const mixed = i32x4.mul(words, key1)
  return i32x4.mul(v128.or(i32x4.shl(mixed, 15), i32x4.shr_u(mixed, 17)), key2)
}

// @ts-ignore: decorator
@inline
function stepped(hash: v128, key: v128, add: v128): v128 {
  const mixed = v128.xor(hash, key)
  const turned = v128.or(i32x4.shl(mixed, 13), i32x4.shr_u(mixed, 19))
  return i32x4.add(i32x4.shl(turned, 2), i32x4.add(turned, add))
}

// @ts-ignore: decorator
@inline
function finished(hash: v128): v128 {
  hash = i32x4.mul(v128.xor(hash, i32x4.shr_u(hash, 16)), v128.load(FINISH_1))
  hash = i32x4.mul(v128.xor(hash, i32x4.shr_u(hash, 13)), v128.load(FINISH_2))
  return v128.xor(hash, i32x4.shr_u(hash, 16))
}

// @ts-ignore: decorator
@inline
function storeBuckets(op: Op, at: usize, a: v128, b: v128): void {
  a = finished(a)
  b = finished(b)
  const place = op.place * 8
  const buckets = op.buckets
  const inverse = op.inverse
  store<u64>(load<u32>(at) + place, bucketOfFinished(i32x4.extract_lane(a, 0), i32x4.extract_lane(b, 0), buckets, inverse))
  store<u64>(load<u32>(at, 4) + place, bucketOfFinished(i32x4.extract_lane(a, 1), i32x4.extract_lane(b, 1), buckets, inverse))
  store<u64>(load<u32>(at, 8) + place, bucketOfFinished(i32x4.extract_lane(a, 2), i32x4.extract_lane(b, 2), buckets, inverse))
  store<u64>(load<u32>(at, 12) + place, bucketOfFinished(i32x4.extract_lane(a, 3), i32x4.extract_lane(b, 3), buckets, inverse))
}
