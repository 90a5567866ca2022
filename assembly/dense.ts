// The dense block: all dense weights and their optimizer state in one shared memory, seen by every trainer thread.
import { a, ADAM, aux, MOMENTUM, rate, rule } from "./rules";
export { configure, setStep, apply } from "./rules";

/**
 * out = the weights as `steps` further steps along the optimizer's momentum would leave them: what they will be when the
 * gradients that other threads are computing have been applied. Rules without momentum have no direction to go on in.
 */
export function ahead(w: usize, stride: usize, out: usize, n: u32, steps: f32): void {
  let end = w + (<usize>n << 2);
  if (rule == ADAM) {
    let lr = f32x4.splat(steps * rate), eps = f32x4.splat(aux);
    for (; w < end; w += 16, out += 16) {
      let root = f32x4.sqrt(v128.load(w + stride * 2));
      v128.store(out, f32x4.sub(v128.load(w), f32x4.div(f32x4.mul(lr, v128.load(w + stride)), f32x4.add(root, eps))));
    }
  } else if (rule == MOMENTUM) {
    let lr = f32x4.splat(steps * rate * a);
    for (; w < end; w += 16, out += 16) v128.store(out, f32x4.sub(v128.load(w), f32x4.mul(lr, v128.load(w + stride))));
  } else {
    memory.copy(out, w, <usize>n << 2);
  }
}

/** into = factor * from, or with `add` into += factor * from. Lengths are multiples of four. */
export function weigh(into: usize, from: usize, n: u32, factor: f32, add: bool): void {
  let factors = f32x4.splat(factor);
  for (let end = into + (<usize>n << 2); into < end; into += 16, from += 16) {
    let x = f32x4.mul(factors, v128.load(from));
    v128.store(into, add ? f32x4.add(v128.load(into), x) : x);
  }
}
