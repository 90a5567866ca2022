/**
 * @file A checksum of text, to notice a command that prints something else the second time; not against anybody's intent.
 * The plain version is checksumReference in src/base/kernel/text-reference.testing.ts.
 */
const PRIME: u32 = 0x9e3779b1
const STEP: usize = 64 // four independent chains of four lanes: a multiplication takes several cycles

/** Of the bytes in [from, to), going on from the checksum of what was before. */
export function checksum(from: usize, to: usize, seed: u32): u32 {
  const prime = i32x4.splat(PRIME)
  let a = i32x4.splat(seed)
  let b = i32x4.splat(seed + 1)
  let c = i32x4.splat(seed + 2)
  let d = i32x4.splat(seed + 3)
  let p = from
  for (; p + STEP <= to; p += STEP) {
    a = mixed(i32x4.mul(v128.xor(a, v128.load(p)), prime))
    b = mixed(i32x4.mul(v128.xor(b, v128.load(p, 16)), prime))
    c = mixed(i32x4.mul(v128.xor(c, v128.load(p, 32)), prime))
    d = mixed(i32x4.mul(v128.xor(d, v128.load(p, 48)), prime))
  }
  let sum = <u32>(to - from)
  sum = folded(sum, a)
  sum = folded(sum, b)
  sum = folded(sum, c)
  sum = folded(sum, d)
  for (; p < to; p++) sum = mixed32((sum ^ <u32>load<u8>(p)) * PRIME)
  return sum
}

@inline function mixed(lanes: v128): v128 {
  return v128.xor(lanes, i32x4.shr_u(lanes, 15))
}

@inline function mixed32(value: u32): u32 {
  return value ^ (value >> 15)
}

function folded(sum: u32, lanes: v128): u32 {
  sum = mixed32((sum ^ <u32>i32x4.extract_lane(lanes, 0)) * PRIME)
  sum = mixed32((sum ^ <u32>i32x4.extract_lane(lanes, 1)) * PRIME)
  sum = mixed32((sum ^ <u32>i32x4.extract_lane(lanes, 2)) * PRIME)
  return mixed32((sum ^ <u32>i32x4.extract_lane(lanes, 3)) * PRIME)
}
