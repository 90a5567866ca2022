// Weights of rows as bfloat16: the upper half of a float32, two in four bytes. A step works on them as float32 and rounds what comes
// out up or down by chance, so that steps smaller than the last place add up. Chance is a pure function of (seed, table, sign, step): one
// thread gives the same bits every time. The plain twin is src/weights/table/precision-reference.testing.ts.
import { GOLDEN, mix64 } from "./mix";
import { allocate, reserve } from "./segment-memory";

export let packed: bool = false;
/** One row's weights as float32, in this thread's hands; 0 until it is needed. Behind them zeros, up to a multiple of four. */
export let work: usize = 0;
let seed: u64 = 0;
let workBytes: u32 = 0;

export function setPrecision(packed_: bool, weights: usize, seed_: u64): void {
  packed = packed_; seed = seed_;
  workBytes = <u32>((weights + 3) & ~3) << 2;
}

/** Bytes of `n` weights in a row; what follows them lies at a multiple of four. */
export function weightBytes(n: usize): usize { return packed ? ((n + 1) & ~1) << 1 : n << 2; }

/** Before weights are worked on; false when the segment is full. `locked`: this thread has the segment's lock. */
export function hasRoom(locked: bool): bool {
  if (packed && !work) work = locked ? allocate(workBytes) : reserve(workBytes);
  return !packed || work != 0;
}

/** Of an update, or of the steps that a row has missed before it. */
export function chance(sign: u64, step: u64, missed: bool): u64 {
  let base = mix64(mix64(sign ^ seed) + step * GOLDEN);
  return missed ? mix64(base) : base;
}

export function widen(to: usize, row: usize, n: usize): void {
  let end = row + (n << 1);
  for (; row + 8 <= end; row += 8, to += 16) v128.store(to, i32x4.shl(i32x4.extend_low_i16x8_u(v128.load64_zero(row)), 16));
  for (; row < end; row += 2, to += 4) store<u32>(to, <u32>load<u16>(row) << 16);
}

/** Up or down: up as often as the value is nearer to that. `from` has zeros behind its `n` weights, up to a multiple of four. */
export function roundByChance(row: usize, from: usize, n: usize, chance: u64): void {
  for (let end = row + weightBytes(n); row < end; row += 8, from += 16) {
    chance += GOLDEN;
    let x = v128.load(from);
    put(row, end, x, i32x4.add(x, i32x4.extend_low_i16x8_u(i64x2.splat(mix64(chance)))));
  }
}

/** To the nearest, ties to even: first values, which nothing adds up to. */
export function roundToNearest(row: usize, from: usize, n: usize): void {
  for (let end = row + weightBytes(n); row < end; row += 8, from += 16) {
    let x = v128.load(from);
    let odd = v128.and(i32x4.shr_u(x, 16), i32x4.splat(1));
    put(row, end, x, i32x4.add(x, i32x4.add(odd, i32x4.splat(0x7fff))));
  }
}

// The upper halves of `rounded`; where `x` is not a number, one that still is none.
@inline function put(row: usize, end: usize, x: v128, rounded: v128): void {
  let isNumber = f32x4.eq(x, x);
  let halves = i32x4.shr_u(v128.bitselect(rounded, i32x4.splat(0x7fc00000), isNumber), 16);
  let four = i16x8.narrow_i32x4_u(halves, halves);
  if (row + 8 <= end) v128.store_lane<u64>(row, four, 0); else v128.store_lane<u32>(row, four, 0);
}
