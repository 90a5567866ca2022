// Optimizer rules over (weight, state..., gradient) runs of f32. One implementation serves table rows (a run is a row)
// and dense blocks (a run is a parameter). Each rule is written once on four lanes; `one` (a compile-time constant after
// inlining) makes the same code handle the tail a lane at a time, so results do not depend on alignment or length.
// The plain counterpart is src/weights/optim/reference.testing.ts.

export const SGD: i32 = 0;
export const MOMENTUM: i32 = 1;
export const ADAGRAD: i32 = 2;
export const RMSPROP: i32 = 3;
export const ADAM: i32 = 4;
export const FTRL: i32 = 5;

// Set once per instance by `configure`: what the rule is and its constants (see src/weights/optim/rules.ts for their meaning).
export let rule: i32 = 0;
export let a: f32 = 0;
export let b: f32 = 0;
export let c: f32 = 0;
export let flags: i32 = 0;

// Set per step: the scheduled learning rate, and the second factor some rules need (Adam's corrected epsilon).
export let rate: f32 = 0;
export let aux: f32 = 0;
export let l2: f32 = 0;

// What is left of a and b to 1, rounded once: 1 - 0.999 in float32 is off by more than a part in 100,000.
let restA: f32 = 0;
let restB: f32 = 0;

export function configure(kind: i32, a_: f64, b_: f64, c_: f64, flags_: i32): void {
  rule = kind; a = <f32>a_; b = <f32>b_; c = <f32>c_; flags = flags_;
  restA = <f32>(1 - a_); restB = <f32>(1 - b_);
}

export function setStep(rate_: f32, aux_: f32, l2_: f32): void {
  rate = rate_; aux = aux_; l2 = l2_;
}

@inline function load4(p: usize, one: bool): v128 {
  return one ? v128.load32_zero(p) : v128.load(p);
}
@inline function store4(p: usize, x: v128, one: bool): void {
  if (one) v128.store_lane<f32>(p, x, 0); else v128.store(p, x);
}
@inline function gradient(w: v128, g: usize, decay: v128, one: bool): v128 {
  return f32x4.add(load4(g, one), f32x4.mul(decay, w));
}

@inline function sgd4(w: usize, g: usize, lr: v128, decay: v128, one: bool): void {
  let x = load4(w, one);
  store4(w, f32x4.sub(x, f32x4.mul(lr, gradient(x, g, decay, one))), one);
}

// u = mu u + g; w -= lr u, or with Nesterov w -= lr (g + mu u)
@inline function momentum4(w: usize, s: usize, g: usize, lr: v128, decay: v128, mu: v128, nesterov: bool, one: bool): void {
  let x = load4(w, one);
  let grad = gradient(x, g, decay, one);
  let u = f32x4.add(f32x4.mul(mu, load4(s, one)), grad);
  store4(s, u, one);
  let step = nesterov ? f32x4.add(grad, f32x4.mul(mu, u)) : u;
  store4(w, f32x4.sub(x, f32x4.mul(lr, step)), one);
}

// h += g^2; w -= lr g / (sqrt(h) + eps)
@inline function adagrad4(w: usize, s: usize, g: usize, lr: v128, decay: v128, eps: v128, one: bool): void {
  let x = load4(w, one);
  let grad = gradient(x, g, decay, one);
  let h = f32x4.add(load4(s, one), f32x4.mul(grad, grad));
  store4(s, h, one);
  store4(w, f32x4.sub(x, f32x4.div(f32x4.mul(lr, grad), f32x4.add(f32x4.sqrt(h), eps))), one);
}

// h = rho h + (1-rho) g^2; [centered: k = rho k + (1-rho) g; d = h - k^2]; u = mu u + lr g / sqrt(d + eps); w -= u
@inline function rmsprop4(w: usize, s: usize, u: usize, k: usize, g: usize, lr: v128, decay: v128, rho: v128, rest: v128, eps: v128, mu: v128, centered: bool, one: bool): void {
  let x = load4(w, one);
  let grad = gradient(x, g, decay, one);
  let h = f32x4.add(f32x4.mul(rho, load4(s, one)), f32x4.mul(rest, f32x4.mul(grad, grad)));
  store4(s, h, one);
  let d = h;
  if (centered) {
    let mean = f32x4.add(f32x4.mul(rho, load4(k, one)), f32x4.mul(rest, grad));
    store4(k, mean, one);
    d = f32x4.sub(h, f32x4.mul(mean, mean));
  }
  let v = f32x4.add(f32x4.mul(mu, load4(u, one)), f32x4.div(f32x4.mul(lr, grad), f32x4.sqrt(f32x4.add(d, eps))));
  store4(u, v, one);
  store4(w, f32x4.sub(x, v), one);
}

// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= lr_t m / (sqrt(v) + eps_t), bias corrections folded into lr_t, eps_t
@inline function adam4(w: usize, m: usize, v: usize, g: usize, lr: v128, eps: v128, decay: v128, b1: v128, r1: v128, b2: v128, r2: v128, one: bool): void {
  let x = load4(w, one);
  let grad = gradient(x, g, decay, one);
  let m_ = f32x4.add(f32x4.mul(b1, load4(m, one)), f32x4.mul(r1, grad));
  let v_ = f32x4.add(f32x4.mul(b2, load4(v, one)), f32x4.mul(r2, f32x4.mul(grad, grad)));
  store4(m, m_, one);
  store4(v, v_, one);
  store4(w, f32x4.sub(x, f32x4.div(f32x4.mul(lr, m_), f32x4.add(f32x4.sqrt(v_), eps))), one);
}

// n' = n + g^2; z += g - (sqrt(n') - sqrt(n)) / lr w; w = |z| > l1 ? (sign(z) l1 - z) / (sqrt(n')/lr + 2 l2) : 0
@inline function ftrl4(w: usize, n: usize, z: usize, g: usize, lr: v128, l1: v128, l2x2: v128, one: bool): void {
  let x = load4(w, one);
  let grad = load4(g, one);
  let n0 = load4(n, one);
  let n1 = f32x4.add(n0, f32x4.mul(grad, grad));
  let root = f32x4.sqrt(n1);
  let z1 = f32x4.sub(f32x4.add(load4(z, one), grad), f32x4.mul(f32x4.div(f32x4.sub(root, f32x4.sqrt(n0)), lr), x));
  let sign = v128.and(z1, i32x4.splat(0x80000000));
  let shrunk = f32x4.sub(v128.or(l1, sign), z1);
  let next = f32x4.div(shrunk, f32x4.add(f32x4.div(root, lr), l2x2));
  store4(n, n1, one);
  store4(z, z1, one);
  store4(w, v128.and(next, f32x4.gt(f32x4.abs(z1), l1)), one);
}

/** Applies the configured rule to `n` values; `stride` bytes lie between a weight and its first, second, third state. */
export function apply(w: usize, stride: usize, g: usize, n: usize): void { applyTo(w, stride, stride, g, n); }

/** The same where `first` bytes lie between a weight and its first state, and `stride` between that and the next. */
export function applyTo(w: usize, first: usize, stride: usize, g: usize, n: usize): void {
  if (rule == ADAM) {
    let lr = f32x4.splat(rate), decay = f32x4.splat(l2), eps = f32x4.splat(aux);
    let b1 = f32x4.splat(a), r1 = f32x4.splat(restA), b2 = f32x4.splat(b), r2 = f32x4.splat(restB);
    adamRun(w, first, first + stride, g, n, lr, eps, decay, b1, r1, b2, r2);
  } else applyOther(w, first, stride, g, n);
}

/** Applies the rule to `count` rows of `n` weights, given by their addresses, with gradients [count, n]. */
export function applyRows(addresses: usize, count: u32, g: usize, n: usize): void {
  let bytes = n << 2;
  let end = addresses + (<usize>count << 2);
  if (rule == ADAM) {
    let lr = f32x4.splat(rate), decay = f32x4.splat(l2), eps = f32x4.splat(aux);
    let b1 = f32x4.splat(a), r1 = f32x4.splat(restA), b2 = f32x4.splat(b), r2 = f32x4.splat(restB);
    for (; addresses < end; addresses += 4, g += bytes) adamRun(load<u32>(addresses), bytes, bytes * 2, g, n, lr, eps, decay, b1, r1, b2, r2);
  } else {
    for (; addresses < end; addresses += 4, g += bytes) applyOther(load<u32>(addresses), bytes, bytes, g, n);
  }
}

@inline function adamRun(w: usize, first: usize, second: usize, g: usize, n: usize, lr: v128, eps: v128, decay: v128, b1: v128, r1: v128, b2: v128, r2: v128): void {
  let end = w + (n << 2);
  let bulk = w + ((n & ~3) << 2);
  for (; w < bulk; w += 16, g += 16) adam4(w, w + first, w + second, g, lr, eps, decay, b1, r1, b2, r2, false);
  for (; w < end; w += 4, g += 4) adam4(w, w + first, w + second, g, lr, eps, decay, b1, r1, b2, r2, true);
}

// The rules that benchmarks ask less of: constants are set up for each run.
function applyOther(w: usize, first: usize, stride: usize, g: usize, n: usize): void {
  let end = w + (n << 2);
  let bulk = w + ((n & ~3) << 2);
  let lr = f32x4.splat(rate), decay = f32x4.splat(l2);
  let s = first, t = first + stride, k = first + stride * 2;
  if (rule == SGD) {
    for (; w < bulk; w += 16, g += 16) sgd4(w, g, lr, decay, false);
    for (; w < end; w += 4, g += 4) sgd4(w, g, lr, decay, true);
  } else if (rule == ADAGRAD) {
    let eps = f32x4.splat(a);
    for (; w < bulk; w += 16, g += 16) adagrad4(w, w + s, g, lr, decay, eps, false);
    for (; w < end; w += 4, g += 4) adagrad4(w, w + s, g, lr, decay, eps, true);
  } else if (rule == MOMENTUM) {
    let mu = f32x4.splat(a), nesterov = flags != 0;
    for (; w < bulk; w += 16, g += 16) momentum4(w, w + s, g, lr, decay, mu, nesterov, false);
    for (; w < end; w += 4, g += 4) momentum4(w, w + s, g, lr, decay, mu, nesterov, true);
  } else if (rule == RMSPROP) {
    let rho = f32x4.splat(a), rest = f32x4.splat(restA), eps = f32x4.splat(b), mu = f32x4.splat(c), centered = flags != 0;
    for (; w < bulk; w += 16, g += 16) rmsprop4(w, w + s, w + t, w + k, g, lr, decay, rho, rest, eps, mu, centered, false);
    for (; w < end; w += 4, g += 4) rmsprop4(w, w + s, w + t, w + k, g, lr, decay, rho, rest, eps, mu, centered, true);
  } else {
    // FTRL has its own l1 and l2 (proximal), so the plain decay is not added to its gradient.
    let l1 = f32x4.splat(a), l2x2 = f32x4.splat(b + b);
    for (; w < bulk; w += 16, g += 16) ftrl4(w, w + s, w + t, g, lr, l1, l2x2, false);
    for (; w < end; w += 4, g += 4) ftrl4(w, w + s, w + t, g, lr, l1, l2x2, true);
  }
}
