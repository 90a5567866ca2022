// Rows of an accessor table, as data: weights first (one, then `embedx` made late), the state of both, then what is known of
// the sign. A row:
//
//   embed_w, embedx_w[embedx] | state of embed_w | state of embedx_w | slot, unseen_days, delta_score, flags, seen | show, click
//
// Weights are float32 or bfloat16 (segment-precision.ts), show and click float32, or float64 where `wide`. The plain twin is
// src/weights/table/accessor-reference.testing.ts.
import { applyPart, bounded, initState, PartRule, stateFloats } from "./accessor-rules";
import { GOLDEN, mix64 } from "./mix";
import { RULES } from "./segment-memory";
import { chance, packed, roundByChance, roundToNearest, setPrecision, weightBytes, widen, work } from "./segment-precision";
import { setRowBytes } from "./segment-rows";

const HAS_EMBEDX: u32 = 1;
const ADMITTED: u32 = 2;

// Entry policies.
const COUNT: i32 = 1;
const PROBABILITY: i32 = 2;

/** Rows are an accessor's. */
export let active: bool = false;
export let columns: usize = 0;   // floats a pull writes
let leading: usize = 0;          // of them show and click
let embedx: u32 = 0;
let wide: bool = false;
let seed: u64 = 0;
let statesAt: usize = 0;         // bytes from the row's start
let embedxStatesAt: usize = 0;
let statsAt: usize = 0;
let countsAt: usize = 0;

const embedPart = changetype<PartRule>(RULES);
const embedxPart = changetype<PartRule>(RULES + 128);

let threshold: f64 = 0;
let nonclk: f64 = 0;
let clicked: f64 = 0;
let showScale: bool = false;
let zeroInit: bool = false;
let entry: i32 = 0;
let entryValue: f64 = 0;
let baseThreshold: f64 = 0;
let deltaThreshold: f64 = 0;
let keepDays: f64 = 0;
let decay: f64 = 1;
let deleteThreshold: f64 = 0;
let deleteDays: f64 = 0;

/** Called for both parts (0: the first weight, 1: the others), before setAccessor. */
export function setPart(part: i32, rule: i32, rate: f64, g2sum: f64, range: f64, beta1: f64, beta2: f64, epsilon: f64, low: f64, high: f64): void {
  let to = part == 0 ? embedPart : embedxPart;
  to.rule = rule; to.rate = rate; to.g2sum = g2sum; to.range = range;
  to.beta1 = beta1; to.beta2 = beta2; to.epsilon = epsilon; to.low = low; to.high = high;
}

export function setAccessor(seed_: u64, leading_: u32, embedx_: u32, wide_: bool, threshold_: f64, nonclk_: f64, click_: f64, showScale_: bool, zeroInit_: bool, entry_: i32, entryValue_: f64): void {
  active = true;
  seed = seed_; leading = leading_; embedx = embedx_; wide = wide_;
  threshold = threshold_; nonclk = nonclk_; clicked = click_; showScale = showScale_; zeroInit = zeroInit_;
  entry = entry_; entryValue = entryValue_;
  columns = leading + 1 + embedx;
  setPrecision(packed, 1 + embedx, seed_);
  statesAt = weightBytes(1 + embedx);
  embedxStatesAt = statesAt + (<usize>stateFloats(embedPart.rule, 1) << 2);
  statsAt = embedxStatesAt + (<usize>stateFloats(embedxPart.rule, embedx) << 2);
  countsAt = statsAt + 20;
  setRowBytes(countsAt + (wide ? 16 : 8));
}

export function setKeeping(base: f64, delta: f64, keepDays_: f64, decay_: f64, deleteThreshold_: f64, deleteDays_: f64): void {
  baseThreshold = base; deltaThreshold = delta; keepDays = keepDays_;
  decay = decay_; deleteThreshold = deleteThreshold_; deleteDays = deleteDays_;
}

@inline function show(row: usize): f64 { return wide ? load<f64>(row + countsAt) : <f64>load<f32>(row + countsAt); }
@inline function click(row: usize): f64 { return wide ? load<f64>(row + countsAt + 8) : <f64>load<f32>(row + countsAt + 4); }
@inline function setCounts(row: usize, show: f64, click: f64): void {
  if (wide) { store<f64>(row + countsAt, show); store<f64>(row + countsAt + 8, click); }
  else { store<f32>(row + countsAt, <f32>show); store<f32>(row + countsAt + 4, <f32>click); }
}
@inline function score(show: f64, click: f64): f64 { return (show - click) * nonclk + click * clicked; }
@inline function flags(row: usize): u32 { return load<u32>(row + statsAt + 12); }

/** Whether a sign without a row gets one; `draw` changes with every push. */
export function admits(sign: u64, draw: u64): bool {
  if (entry != PROBABILITY) return true;
  return <f64>(mix64(mix64(sign ^ seed) + draw * GOLDEN) >> 11) / 9007199254740992.0 < entryValue;
}

/** A new row: known to nobody, its first weight zero or drawn, the others not made. */
export function createRow(row: usize, sign: u64): void {
  memory.fill(row, 0, countsAt);
  setCounts(row, 0, 0);
  store<f32>(row + statsAt, -1);
  if (!zeroInit) {
    let w = packed ? work : row;
    if (packed) memory.fill(w, 0, 16);
    store<f32>(w, drawn(embedPart, mix64(sign ^ seed), 0));
    if (packed) roundToNearest(row, w, 1);
  }
  initState(embedPart, row + statesAt, 1);
}

// Weight number j of a row: a pure function of (seed, table, sign).
function drawn(part: PartRule, base: u64, j: u64): f32 {
  let bits = mix64(base + ((j >> 1) + 1) * GOLDEN);
  let half = j & 1 ? <f64>(<u32>bits >> 8) : <f64>(bits >> 40);
  return bounded(part, (half / 8388608.0 - 1) * part.range);
}

/** Writes what a pull gives of a row; zeros for one that is absent (0) or not admitted. */
export function pullRow(to: usize, row: usize): void {
  if (!row || !(flags(row) & ADMITTED)) { memory.fill(to, 0, columns << 2); return; }
  if (leading) {
    store<f32>(to, <f32>show(row));
    store<f32>(to + 4, <f32>click(row));
    to += 8;
  }
  if (packed) widen(to, row, 1 + embedx); else memory.copy(to, row, statesAt);
}

/** Counts a sign as seen and applies its gradients (of all columns); `shown` is slot, show, click. `draw` changes with every push. */
export function pushRow(row: usize, sign: u64, g: usize, shown: usize, scale: f64, draw: u64): void {
  let slot = load<f32>(shown), pushedShow = <f64>load<f32>(shown + 4), pushedClick = <f64>load<f32>(shown + 8);
  let stats = row + statsAt;
  setCounts(row, show(row) + pushedShow, click(row) + pushedClick);
  store<f32>(stats, slot);
  store<f32>(stats + 4, 0);
  store<f32>(stats + 8, <f32>(<f64>load<f32>(stats + 8) + score(pushedShow, pushedClick)));
  let seen = load<u32>(stats + 16) + 1;
  store<u32>(stats + 16, seen);
  let known = flags(row);
  if (!(known & ADMITTED)) {
    if (entry == COUNT && <f64>seen < entryValue) return;
    known |= ADMITTED;
  }
  g += leading << 2;
  let divisor = showScale && pushedShow > 0 ? pushedShow : 1;
  let w = packed ? work : row;
  if (packed) widen(w, row, 1 + embedx);
  applyPart(embedPart, w, row + statesAt, g, 1, scale, divisor);
  if (embedx) {
    if (known & HAS_EMBEDX) applyPart(embedxPart, w + 4, row + embedxStatesAt, g + 4, embedx, scale, divisor);
    else if (score(show(row), click(row)) >= threshold) {
      known |= HAS_EMBEDX;
      let base = mix64(sign ^ seed);
      for (let j: u32 = 1; j <= embedx; j++) store<f32>(w + (<usize>j << 2), drawn(embedxPart, base, j));
      initState(embedxPart, row + embedxStatesAt, embedx);
    }
  }
  if (packed) roundByChance(row, w, 1 + embedx, chance(sign, draw, false));
  store<u32>(stats + 12, known);
}

/** What a row is worth, and for how many days nobody has seen it. */
export function worth(row: usize): f32 { return <f32>score(show(row), click(row)); }
export function unseenDays(row: usize): f32 { return load<f32>(row + statsAt + 4); }

/** Whether save mode `mode` writes this row. */
export function saved(row: usize, mode: i32): bool {
  if (!(flags(row) & ADMITTED)) return false;
  if (mode != 1 && mode != 2) return true;
  return score(show(row), click(row)) >= baseThreshold
    && <f64>load<f32>(row + statsAt + 8) >= (mode == 1 ? deltaThreshold : 0)
    && <f64>load<f32>(row + statsAt + 4) <= keepDays;
}

/** What a save of `mode` changes once it is done: a delta starts anew, or a day has passed. Whether it changed this row. */
export function settleRow(row: usize, mode: i32): bool {
  let stats = row + statsAt;
  if (mode == 3) {
    store<f32>(stats + 4, load<f32>(stats + 4) + 1);
    return true;
  }
  if ((mode != 1 && mode != 2) || load<f32>(stats + 8) == 0 || !saved(row, mode)) return false;
  store<f32>(stats + 8, 0);
  return true;
}

/** Lets show and click fade; true when the row is to go. */
export function fades(row: usize): bool {
  setCounts(row, show(row) * decay, click(row) * decay);
  return score(show(row), click(row)) < deleteThreshold || <f64>load<f32>(row + statsAt + 4) > deleteDays;
}
