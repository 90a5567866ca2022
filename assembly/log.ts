/**
 * @file The logarithm of declared features, four values at once; a part of the text kernel and one of its own.
 * src/data/features/log.ts is the plain version with the same bits.
 */

/** Loaded from memory: the engine would build each anew for every four values, which takes as long as the arithmetic. */
const ONES = memory.data<f32>([1, 1, 1, 1], 16)
const TWOS = memory.data<f32>([2, 2, 2, 2], 16)
const QUARTERS = memory.data<f32>([0.25, 0.25, 0.25, 0.25], 16)
/** From the bits of 1 + a to those of 2^(k-2), behind which EXPONENTS leaves nothing. */
const SHIFTS = memory.data<u32>([0xff4afb0d, 0xff4afb0d, 0xff4afb0d, 0xff4afb0d], 16)
const EXPONENTS = memory.data<u32>([0xff800000, 0xff800000, 0xff800000, 0xff800000], 16)
const INVERSES = memory.data<u32>([0x7f000000, 0x7f000000, 0x7f000000, 0x7f000000], 16)
const SIGNS = memory.data<u32>([0x80000000, 0x80000000, 0x80000000, 0x80000000], 16)
const BIASES = memory.data<u32>([0x3e800000, 0x3e800000, 0x3e800000, 0x3e800000], 16)
/** ln 2 times 2^-23: the exponent counts where it stands in the bits. */
const LN2 = memory.data<f32>([8.262958305200731e-8, 8.262958305200731e-8, 8.262958305200731e-8, 8.262958305200731e-8], 16)
const L1 = memory.data<f32>([0.6666677594184875, 0.6666677594184875, 0.6666677594184875, 0.6666677594184875], 16)
const L2 = memory.data<f32>([0.3997759222984314, 0.3997759222984314, 0.3997759222984314, 0.3997759222984314], 16)
const L3 = memory.data<f32>([0.29870277643203735, 0.29870277643203735, 0.29870277643203735, 0.29870277643203735], 16)

/** sign(x) log(1 + |x|) of `length` float32 in place; up to seven values behind them change too. */
export function logColumn(at: usize, length: u32): void {
  for (let end = at + length * 4; at < end; at += 32) {
    const ones = v128.load(ONES)
    const twos = v128.load(TWOS)
    const quarters = v128.load(QUARTERS)
    const shifts = v128.load(SHIFTS)
    const exponents = v128.load(EXPONENTS)
    const l1 = v128.load(L1)
    const l2 = v128.load(L2)
    const l3 = v128.load(L3)
    v128.store(at, logOf(v128.load(at), ones, twos, quarters, shifts, exponents, l1, l2, l3))
    v128.store(at, logOf(v128.load(at, 16), ones, twos, quarters, shifts, exponents, l1, l2, l3), 16)
  }
}

// @ts-ignore: decorator
@inline
function logOf(x: v128, ones: v128, twos: v128, quarters: v128, shifts: v128, exponents: v128, l1: v128, l2: v128, l3: v128): v128 {
  const sign = v128.and(x, v128.load(SIGNS))
  const a = v128.xor(x, sign)
  const power = v128.and(i32x4.add(f32x4.add(a, ones), shifts), exponents)
  const k = f32x4.convert_i32x4_s(i32x4.sub(power, v128.load(BIASES)))
  const rest = f32x4.sub(f32x4.mul(a, quarters), f32x4.sub(power, quarters))
  const f = f32x4.mul(rest, i32x4.sub(v128.load(INVERSES), power))
  const s = f32x4.div(f, f32x4.add(f, twos))
  const z = f32x4.mul(s, s)
  const inner = f32x4.add(f32x4.mul(z, l3), l2)
  const outer = f32x4.add(f32x4.mul(z, inner), l1)
  const curve = f32x4.mul(s, f32x4.add(f32x4.mul(z, outer), twos))
  return v128.or(f32x4.add(curve, f32x4.mul(k, v128.load(LN2))), sign)
}
