/**
 * @file The logarithm of declared features, four values at once; a part of the text kernel and one of its own.
 * src/data/features/log.ts is the plain version with the same bits.
 */

/** Loaded from memory, once: the engine would build each anew for every four values, which takes as long as the arithmetic. */
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

/** Of the values under way: k ln 2 with the sign of the result. */
const REST = memory.data(2048, 16)
const ROOM: u32 = 512

/** sign(x) log(1 + |x|) of `length` float32 in place; up to three values behind them change too. */
export function logColumn(at: usize, length: u32): void {
  for (; length > ROOM; length -= ROOM, at += ROOM * 4) logPart(at, ROOM)
  logPart(at, length)
}

/**
 * In two halves: all of it is one long chain for each value, and the processor looks only so far ahead for others to work at meanwhile.
 * The sign is in both parts of the sum before they meet: each step is as exact below zero as above it.
 */
function logPart(at: usize, length: u32): void {
  const end = at + length * 4
  firstHalf(at, end)
  secondHalf(at, end)
}

function firstHalf(at: usize, end: usize): void {
  const signs = v128.load(SIGNS)
  const ones = v128.load(ONES)
  const shifts = v128.load(SHIFTS)
  const exponents = v128.load(EXPONENTS)
  const biases = v128.load(BIASES)
  const quarters = v128.load(QUARTERS)
  const inverses = v128.load(INVERSES)
  const twos = v128.load(TWOS)
  const ln2 = v128.load(LN2)
  for (let p = at, rest: usize = REST; p < end; p += 16, rest += 16) {
    const x = v128.load(p)
    const sign = v128.and(x, signs)
    const a = v128.xor(x, sign)
    const power = v128.and(i32x4.add(f32x4.add(a, ones), shifts), exponents)
    const k = f32x4.convert_i32x4_s(i32x4.sub(power, biases))
    const left = f32x4.sub(f32x4.mul(a, quarters), f32x4.sub(power, quarters))
    const f = f32x4.mul(left, i32x4.sub(inverses, power))
    v128.store(p, v128.xor(f32x4.div(f, f32x4.add(f, twos)), sign))
    v128.store(rest, v128.xor(f32x4.mul(k, ln2), sign))
  }
}

function secondHalf(at: usize, end: usize): void {
  const l1 = v128.load(L1)
  const l2 = v128.load(L2)
  const l3 = v128.load(L3)
  const twos = v128.load(TWOS)
  for (let p = at, rest: usize = REST; p < end; p += 16, rest += 16) {
    const s = v128.load(p)
    const z = f32x4.mul(s, s)
    const inner = f32x4.add(f32x4.mul(z, l3), l2)
    const outer = f32x4.add(f32x4.mul(z, inner), l1)
    const curve = f32x4.mul(s, f32x4.add(f32x4.mul(z, outer), twos))
    v128.store(p, f32x4.add(curve, v128.load(rest)))
  }
}
