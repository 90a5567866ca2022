/** @file The logarithm of declared features, four values at once: src/data/features/log.ts is the plain version with the same bits. */

/** sign(x) log(1 + |x|) of `length` float32 in place; up to three values behind them change too. */
export function logColumn(at: usize, length: u32): void {
  for (let end = at + length * 4; at < end; at += 16) v128.store(at, logOf(v128.load(at)))
}

// @ts-ignore: decorator
@inline
function logOf(x: v128): v128 {
  const one = f32x4.splat(1)
  const a = f32x4.abs(x)
  // 1 + a = 2^k m with m from sqrt(1/2) to sqrt(2)
  const shifted = i32x4.add(f32x4.add(one, a), i32x4.splat(0x004afb0d))
  const k = f32x4.convert_i32x4_s(i32x4.sub(i32x4.shr_u(shifted, 23), i32x4.splat(127)))
  const m = i32x4.add(v128.and(shifted, i32x4.splat(0x007fffff)), i32x4.splat(0x3f3504f3))
  // Where k is 0, a itself has the digits that 1 + a has lost.
  const f = v128.bitselect(a, f32x4.sub(m, one), f32x4.eq(k, f32x4.splat(0)))
  const s = f32x4.div(f, f32x4.add(f32x4.splat(2), f))
  const z = f32x4.mul(s, s)
  const w = f32x4.mul(z, z)
  const even = f32x4.mul(w, f32x4.add(f32x4.splat(0.40000972151756287), f32x4.mul(w, f32x4.splat(0.24279078841209412))))
  const odd = f32x4.mul(z, f32x4.add(f32x4.splat(0.6666666269302368), f32x4.mul(w, f32x4.splat(0.2849878668785095))))
  const half = f32x4.mul(f32x4.mul(f32x4.splat(0.5), f), f)
  const curve = f32x4.mul(s, f32x4.add(half, f32x4.add(odd, even)))
  const low = f32x4.add(curve, f32x4.mul(k, f32x4.splat(0.00000905800061445916)))
  const log = f32x4.add(f32x4.add(f32x4.sub(low, half), f), f32x4.mul(k, f32x4.splat(0.6931381225585938)))
  return v128.or(log, v128.and(x, i32x4.splat(0x80000000)))
}
