// The dense block: all dense weights and their optimizer state in one shared memory, seen by every trainer thread.
export { configure, setStep, apply } from "./rules";

/** into = factor * from, or with `add` into += factor * from. Lengths are multiples of four. */
export function weigh(into: usize, from: usize, n: u32, factor: f32, add: bool): void {
  let factors = f32x4.splat(factor);
  for (let end = into + (<usize>n << 2); into < end; into += 16, from += 16) {
    let x = f32x4.mul(factors, v128.load(from));
    v128.store(into, add ? f32x4.add(v128.load(into), x) : x);
  }
}
