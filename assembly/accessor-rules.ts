// Paddle's sparse rules: each works on one part of a row (its first weight, or the others) and keeps its state behind the
// weights. Arithmetic is float64, rounded to float32 when stored, so that the plain twin (src/weights/table/accessor-rules.testing.ts)
// gives the same bits.

export const NAIVE: i32 = 0;
export const ADAGRAD: i32 = 1;
export const STD_ADAGRAD: i32 = 2;
export const ADAGRAD_V2: i32 = 3;
export const ADAM: i32 = 4;
export const SHARED_ADAM: i32 = 5;

const V2_EPSILON: f64 = 1e-8;

/** A rule with its constants, at an address: one for each part of a row. */
@unmanaged
export class PartRule {
  rule: i32;
  rate: f64;
  g2sum: f64;
  range: f64;
  beta1: f64;
  beta2: f64;
  epsilon: f64;
  low: f64;
  high: f64;
}

/** Floats of state for `n` weights. */
export function stateFloats(rule: i32, n: u32): u32 {
  if (rule == ADAGRAD || rule == ADAGRAD_V2) return 1;
  if (rule == STD_ADAGRAD) return n;
  if (rule == ADAM) return 2 * n + 2;
  return rule == SHARED_ADAM ? 4 : 0;
}

@inline export function bounded(part: PartRule, w: f64): f32 { return <f32>max(part.low, min(part.high, w)); }

/** State of weights that were never updated. */
export function initState(part: PartRule, state: usize, n: u32): void {
  memory.fill(state, 0, <usize>stateFloats(part.rule, n) << 2);
  let powers = state + (<usize>(part.rule == ADAM ? 2 * n : 2) << 2);
  if (part.rule != ADAM && part.rule != SHARED_ADAM) return;
  store<f32>(powers, <f32>part.beta1);
  store<f32>(powers + 4, <f32>part.beta2);
}

/** Gradients are those of a batch's mean: `scale` makes them its sum. The AdaGrad rules divide by `show`. */
export function applyPart(part: PartRule, w: usize, state: usize, g: usize, n: u32, scale: f64, show: f64): void {
  let end = w + (<usize>n << 2);
  if (part.rule == ADAM) adam(part, w, end, state, g, n, scale);
  else if (part.rule == SHARED_ADAM) sharedAdam(part, w, end, state, g, n, scale);
  else if (part.rule == NAIVE) {
    for (; w < end; w += 4, g += 4) move(part, w, part.rate * (scale * <f64>load<f32>(g)));
  } else if (part.rule == STD_ADAGRAD) {
    for (; w < end; w += 4, g += 4, state += 4) {
      let x = scale * <f64>load<f32>(g) / show, h = <f64>load<f32>(state);
      move(part, w, part.rate * x * NativeMath.sqrt(part.g2sum / (part.g2sum + h)));
      store<f32>(state, <f32>(h + x * x));
    }
  } else adagrad(part, w, end, state, g, n, scale, show);
}

@inline function move(part: PartRule, w: usize, step: f64): void {
  store<f32>(w, bounded(part, <f64>load<f32>(w) - step));
}

// One squared sum for all weights of the part.
function adagrad(part: PartRule, w: usize, end: usize, state: usize, g: usize, n: u32, scale: f64, show: f64): void {
  let sum: f64 = 0;
  for (let at = g, last = g + (<usize>n << 2); at < last; at += 4) { let x = scale * <f64>load<f32>(at) / show; sum += x * x; }
  let before = <f64>load<f32>(state);
  let after = <f32>(before + sum / <f64>n);
  let factor = part.rule == ADAGRAD
    ? part.rate * NativeMath.sqrt(part.g2sum / (part.g2sum + before))
    : part.rate / (NativeMath.sqrt(<f64>after) + V2_EPSILON);
  for (; w < end; w += 4, g += 4) move(part, w, factor * (scale * <f64>load<f32>(g) / show));
  store<f32>(state, after);
}

// The powers of both betas belong to the row: it counts its own steps.
function adam(part: PartRule, w: usize, end: usize, state: usize, g: usize, n: u32, scale: f64): void {
  let m = state, v = state + (<usize>n << 2), powers = state + (<usize>n << 3);
  let p1 = <f64>load<f32>(powers), p2 = <f64>load<f32>(powers + 4);
  let rate = part.rate * NativeMath.sqrt(1 - p2) / (1 - p1);
  for (; w < end; w += 4, g += 4, m += 4, v += 4) {
    let x = scale * <f64>load<f32>(g);
    let m_ = <f32>(part.beta1 * <f64>load<f32>(m) + (1 - part.beta1) * x);
    let v_ = <f32>(part.beta2 * <f64>load<f32>(v) + (1 - part.beta2) * x * x);
    store<f32>(m, m_);
    store<f32>(v, v_);
    move(part, w, rate * (<f64>m_ / (NativeMath.sqrt(<f64>v_) + part.epsilon)));
  }
  store<f32>(powers, <f32>(p1 * part.beta1));
  store<f32>(powers + 4, <f32>(p2 * part.beta2));
}

function sharedAdam(part: PartRule, w: usize, end: usize, state: usize, g: usize, n: u32, scale: f64): void {
  let m = <f64>load<f32>(state), v = <f64>load<f32>(state + 4);
  let p1 = <f64>load<f32>(state + 8), p2 = <f64>load<f32>(state + 12);
  let rate = part.rate * NativeMath.sqrt(1 - p2) / (1 - p1);
  let sumM: f64 = 0, sumV: f64 = 0;
  for (; w < end; w += 4, g += 4) {
    let x = scale * <f64>load<f32>(g);
    let m_ = part.beta1 * m + (1 - part.beta1) * x, v_ = part.beta2 * v + (1 - part.beta2) * x * x;
    move(part, w, rate * (m_ / (NativeMath.sqrt(v_) + part.epsilon)));
    sumM += m_;
    sumV += v_;
  }
  store<f32>(state, <f32>(sumM / <f64>n));
  store<f32>(state + 4, <f32>(sumV / <f64>n));
  store<f32>(state + 8, <f32>(p1 * part.beta1));
  store<f32>(state + 12, <f32>(p2 * part.beta2));
}
