// float32 to float16 and back, a block at a time. A block has one factor, a power of two: its largest value comes to lie under
// 2^15, so that gradients, which are tiny all together, keep their eleven bits. Counts are multiples of eight.

/** Writes the halves of factor * from[i] and returns 1 / factor. Infinity and NaN stay what they are. */
export function encode(from: usize, into: usize, n: u32): f32 {
  let end = from + (<usize>n << 2);
  let tops = f32x4.splat(0);
  for (let at = from; at < end; at += 16) tops = f32x4.pmax(tops, f32x4.abs(v128.load(at)));
  let top = max(
    max(f32x4.extract_lane(tops, 0), f32x4.extract_lane(tops, 1)),
    max(f32x4.extract_lane(tops, 2), f32x4.extract_lane(tops, 3)),
  );
  let exponent = <i32>(reinterpret<u32>(top) >> 23) - 127; // 128: Infinity; -127: zero or next to it
  let shift = exponent == 128 || exponent == -127 ? 0 : min(14 - exponent, 126);
  let factor = f32x4.splat(powerOfTwo(shift));
  for (; from < end; from += 32, into += 16) {
    let low = half(f32x4.mul(factor, v128.load(from)));
    let high = half(f32x4.mul(factor, v128.load(from, 16)));
    v128.store(into, i16x8.narrow_i32x4_u(low, high));
  }
  return powerOfTwo(-shift);
}

/** Writes factor * each half. */
export function decode(from: usize, into: usize, n: u32, factor: f32): void {
  let factors = f32x4.splat(factor);
  for (let end = from + (<usize>n << 1); from < end; from += 16, into += 32) {
    let halves = v128.load(from);
    v128.store(into, f32x4.mul(factors, single(i32x4.extend_low_i16x8_u(halves))));
    v128.store(into, f32x4.mul(factors, single(i32x4.extend_high_i16x8_u(halves))), 16);
  }
}

// @ts-ignore: decorator
@inline
function powerOfTwo(exponent: i32): f32 {
  return reinterpret<f32>((exponent + 127) << 23);
}

/** Four floats as four halves, each in the low 16 bits of its lane; rounds to nearest, ties to even. */
// @ts-ignore: decorator
@inline
function half(x: v128): v128 {
  let sign = v128.and(x, i32x4.splat(<i32>0x80000000));
  let bits = v128.xor(x, sign);
  // Exponents begin 112 lower in halves. Of the 13 bits that go, half a step is added, less a little where the last bit that stays is even.
  let odd = v128.and(i32x4.shr_u(bits, 13), i32x4.splat(1));
  let normal = i32x4.shr_u(i32x4.add(i32x4.add(bits, odd), i32x4.splat(0xfff - (112 << 23))), 13);
  // Between 0.5 and 1 floats are multiples of 2^-24, as halves below 2^-14 are: the addition rounds.
  let small = i32x4.sub(f32x4.add(bits, f32x4.splat(0.5)), i32x4.splat(0x3f000000));
  let special = v128.bitselect(i32x4.splat(0x7e00), i32x4.splat(0x7c00), i32x4.gt_s(bits, i32x4.splat(0x7f800000)));
  let finite = v128.bitselect(small, normal, i32x4.lt_s(bits, i32x4.splat(0x38800000))); // 2^-14
  let magnitude = v128.bitselect(special, finite, i32x4.ge_s(bits, i32x4.splat(0x47800000))); // 2^16
  return v128.or(magnitude, i32x4.shr_u(sign, 16));
}

/** The other way round. */
// @ts-ignore: decorator
@inline
function single(halves: v128): v128 {
  let magnitude = v128.and(halves, i32x4.splat(0x7fff));
  let sign = i32x4.shl(v128.xor(halves, magnitude), 16);
  let finite = f32x4.mul(i32x4.shl(magnitude, 13), f32x4.splat(reinterpret<f32>((127 + 112) << 23)));
  let special = v128.and(i32x4.ge_s(magnitude, i32x4.splat(0x7c00)), i32x4.splat(0x7f800000));
  return v128.or(v128.or(finite, special), sign);
}
