// Rows of a segment: weight, optimizer state and, for Adam that is not lazy, a clock. Rows never move.
import { mix64, GOLDEN } from "./mix";
import { a as beta1, applyTo, b as beta2, c as epsilon } from "./rules";
import { makeMarks } from "./segment-marks";
import { allocate, FREED, reserve, SLAB, SLAB_END } from "./segment-memory";
import { chance, packed, roundByChance, roundToNearest, setPrecision, weightBytes, widen, work } from "./segment-precision";

const SLAB_BYTES: u64 = 1 << 16;

// Initial values: kinds of src/graph/program's initializers that a row can have; 0 is a constant.
const INIT_UNIFORM: i32 = 1;
const INIT_NORMAL: i32 = 2;
const INIT_TRUNCATED: i32 = 3; // normal, redrawn beyond two deviations

export let dim: usize = 0;         // floats of weight
export let rowBytes: usize = 0;
export let statesAt: usize = 0;    // bytes from a row to its state
export let clocked: bool = false;  // a u32 behind the state holds the step of the row's last update
export let runs: usize = 0;        // runs of state that are exchanged with servers, the first ones
export let copied: bool = false;   // behind the state: what the servers hold of weight and exchanged state, and a count of updates
export let copyAt: usize = 0;      // bytes from a row to that
export let countAt: usize = 0;
export let touched: u32 = 0;       // keeps the compiler from dropping reads made for the cache's sake
let states: usize = 0;             // runs of `dim` floats of optimizer state behind the weight
let seed: u64 = 0;
let initKind: i32 = 0;
let initA: f64 = 0;
let initB: f64 = 0;
let stateInit: f32 = 0;
let now: u32 = 0;
let baseRate: f64 = 0;
let spare: usize = 0;              // room for one row in this thread's hands; 0 until it is needed

export function setLayout(dim_: i32, states_: i32, clocked_: bool, seed_: u64, kind: i32, a: f64, b: f64, stateInit_: f32, packed: bool): void {
  dim = dim_; states = states_; clocked = clocked_; seed = seed_;
  setPrecision(packed, dim, seed_);
  statesAt = weightBytes(dim);
  rowBytes = statesAt + ((dim * states + (clocked ? 1 : 0)) << 2);
  initKind = kind; initA = a; initB = b; stateInit = stateInit_;
}

/** So many runs of state are exchanged with servers; with `copied` rows remember what the servers hold of them. */
export function setExchange(runs_: i32, copied_: bool): void {
  runs = runs_; copied = copied_;
  if (!copied) return;
  copyAt = (dim * (1 + states)) << 2;
  countAt = copyAt + ((dim * (1 + runs)) << 2);
  rowBytes += countAt + 4 - copyAt;
}

/** Applies the rule to the rows of `n` signs, whose weights are bfloat16. */
export function stepPacked(signs: usize, addresses: usize, g: usize, n: u32): void {
  let bytes = dim << 2;
  for (let end = addresses + (<usize>n << 2); addresses < end; addresses += 4, signs += 8, g += bytes) {
    let row = <usize>load<u32>(addresses);
    widen(work, row, dim);
    applyTo(work, row + statesAt - work, bytes, g, dim);
    roundByChance(row, work, dim, chance(load<u64>(signs), now, false));
  }
}

/** Counts an update of each row. */
export function countRows(addresses: usize, n: u32): void {
  for (let end = addresses + (<usize>n << 2); addresses < end; addresses += 4) {
    let at = <usize>load<u32>(addresses) + countAt;
    store<f32>(at, load<f32>(at) + 1);
  }
}

/** A first read of every row from byte `from` on, for the cache's sake: the misses overlap. */
export function touchRows(addresses: usize, n: u32, from: usize): void {
  let sum: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let row = <usize>load<u32>(addresses + (i << 2));
    for (let at = row + from; at < row + rowBytes; at += 64) sum += load<u32>(at);
  }
  touched = sum;
}

/** Rows of another layout than weight and state: an accessor's. */
export function setRowBytes(bytes: usize): void { rowBytes = bytes; }

/** The step about to be taken and its scheduled rate before bias correction; only rows with a clock look at it. */
export function setClock(step: u32, rate: f64): void { now = step; baseRate = rate; }

/** The row's last update is the step about to be taken. */
export function stamp(row: usize): void { store<u32>(row + rowBytes - 4, now); }

/** Only under the lock. 0 when the segment is full. */
export function allocateRow(): usize {
  let freed = <usize>load<u32>(FREED);
  if (freed) {
    store<u32>(FREED, load<u32>(freed));
    return freed;
  }
  let at = load<u64>(SLAB);
  if (at + rowBytes > load<u64>(SLAB_END)) {
    let size = max<u64>(SLAB_BYTES / rowBytes, 1) * rowBytes;
    at = allocate(<u32>size);
    if (!at || !makeMarks(at, size)) return 0;
    store<u64>(SLAB_END, at + size);
  }
  store<u64>(SLAB, at + rowBytes);
  return <usize>at;
}

/** A row that nobody holds any more; its memory is used again. Only under the lock. */
export function freeRow(row: usize): void {
  store<u32>(row, load<u32>(FREED));
  store<u32>(FREED, <u32>row);
}

/** Copies the weight. */
@inline export function copyRow(to: usize, from: usize): void {
  if (packed) { widen(to, from, dim); return; }
  copyFloats(to, from);
}

@inline function copyFloats(to: usize, from: usize): void {
  let end = from + (dim << 2);
  for (; from + 16 <= end; from += 16, to += 16) v128.store(to, v128.load(from));
  for (; from < end; from += 4, to += 4) store<u32>(to, load<u32>(from));
}

// Adam that is not lazy moves every row at every step. A row is brought up to date when it is next read: its moments
// decay and go on moving it through the steps it missed, at most CATCH_UP of them (by then 0.9^100 of the moment is left).
const CATCH_UP: u32 = 100;

export function catchUp(row: usize, sign: u64): void {
  if (load<u32>(row + rowBytes - 4) + 1 >= now) return;
  if (!packed) { moveOn(row, row); return; }
  widen(work, row, dim);
  moveOn(row, work);
  roundByChance(row, work, dim, chance(sign, now, true));
}

// `w` is where the row's weights are as float32.
function moveOn(row: usize, w: usize): void {
  let step = now;
  let last = load<u32>(row + rowBytes - 4);
  let missed = min(step - 1 - last, CATCH_UP);
  let bytes = dim << 2, end = w + bytes;
  let toM = row + statesAt - w, toV = toM + bytes;
  let p1 = NativeMath.pow(beta1, <f64>last), p2 = NativeMath.pow(beta2, <f64>last);
  for (let k: u32 = 0; k < missed; k++) {
    p1 *= beta1; p2 *= beta2;
    let root = NativeMath.sqrt(1 - p2);
    let rate = <f32>(baseRate * root / (1 - p1)), eps = <f32>(epsilon * root);
    for (let at = w; at < end; at += 4) {
      let m = beta1 * load<f32>(at + toM), v = beta2 * load<f32>(at + toV);
      store<f32>(at + toM, m);
      store<f32>(at + toV, v);
      store<f32>(at, load<f32>(at) - rate * m / (sqrt<f32>(v) + eps));
    }
  }
  store<u32>(row + rowBytes - 4, step - 1);
}

/** Copies the weight as it would be, for evaluation, which changes nothing. */
export function copyCurrent(to: usize, row: usize): void {
  let isBehind = load<u32>(row + rowBytes - 4) + 1 < now;
  if (isBehind && !spare) spare = reserve(<u32>rowBytes);
  if (!isBehind || !spare) { copyRow(to, row); return; } // without room: the segment is full to the last byte
  memory.copy(spare, row, rowBytes);
  let w = spare;
  if (packed) { widen(work, row, dim); w = work; }
  moveOn(spare, w);
  copyFloats(to, w);
}

export function initRow(row: usize, sign: u64): void {
  initWeights(packed ? work : row, sign);
  if (packed) roundToNearest(row, work, dim);
  initState(row);
  if (copied) {
    memory.copy(row + copyAt, row, countAt - copyAt);
    store<f32>(row + countAt, 0);
  }
  if (clocked) store<u32>(row + rowBytes - 4, now ? now - 1 : 0);
}

/** What a lookup gives of a sign without a row: not rounded, as exports give it, which know nothing of how rows are kept. */
export function imagine(to: usize, sign: u64): void { initWeights(to, sign); }

function initState(row: usize): void {
  let end = row + statesAt + ((dim * states) << 2);
  for (let p = row + statesAt, first = p + (dim << 2); p < end; p += 4) store<f32>(p, p < first ? stateInit : 0);
}

// A pure function of (seed, table, sign): arrival order, threads and shards do not matter.
function initWeights(to: usize, sign: u64): void {
  let base = mix64(sign ^ seed);
  if (initKind == INIT_UNIFORM) {
    // Two values from each 64 random bits: 24 of either half.
    let scale = (initB - initA) / 16777216.0;
    let end = to + (dim << 2);
    for (let j: u64 = 1; to < end; j++) {
      let bits = mix64(base + j * GOLDEN);
      store<f32>(to, <f32>(initA + scale * <f64>(bits >> 40)));
      to += 4;
      if (to == end) break;
      store<f32>(to, <f32>(initA + scale * <f64>(<u32>bits >> 8)));
      to += 4;
    }
    return;
  }
  for (let j: usize = 0; j < dim; j++, to += 4) {
    let bits = mix64(base + <u64>(j + 1) * GOLDEN);
    if (initKind == INIT_NORMAL) store<f32>(to, <f32>(initA + initB * normal(bits)));
    else if (initKind == INIT_TRUNCATED) store<f32>(to, <f32>(initA + initB * truncated(bits)));
    else store<f32>(to, <f32>initA);
  }
}

function normal(bits: u64): f64 {
  let u = (<f64>(bits >> 32) + 1.0) / 4294967297.0;
  let v = <f64>(bits & 0xffffffff) / 4294967296.0;
  return NativeMath.sqrt(-2.0 * NativeMath.log(u)) * NativeMath.cos(6.283185307179586 * v);
}

function truncated(bits: u64): f64 {
  let z = normal(bits);
  while (NativeMath.abs(z) > 2) { bits = mix64(bits + GOLDEN); z = normal(bits); }
  return z;
}
