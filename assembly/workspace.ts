// A trainer thread's private memory: what stands between a batch's signs and the graph's tensors. Private, because
// onnxruntime reads and writes tensors in place here and refuses shared memory.
import { GOLDEN, mix64 } from "./mix";

const AHEAD: usize = 32;
export let sink: u32 = 0; // keeps the compiler from dropping reads made for the cache's sake

const SUM: i32 = 0;
const MEAN: i32 = 1;
const SQRTN: i32 = 2;

// Where signs live: `servers` parameter servers, each with a run of the `shards` logical shards; one server when local.
let servers: u32 = 1;
let shards: u32 = 1;
let shardsPerServer: u32 = 1;

/** Called once per instance where tables live on servers, or (with no shards: by hash) on ranks. */
export function setPlacement(servers_: u32, shards_: u32): void {
  servers = servers_; shards = shards_; shardsPerServer = (shards_ + servers_ - 1) / servers_;
}

/**
 * Numbers the distinct signs of a batch, server after server and segment after segment: distinct[inverse[i]] = signs[i].
 * lengths[server * segments + segment] says how many each has; returns how many there are. Scratch: `table` of (mask + 1)
 * u32, mask + 1 a power of two >= 2 n; `arrival` of n u64 and `place` of n u32.
 */
export function dedupe(signs: usize, n: u32, segmentBits: i32, table: usize, mask: u32, arrival: usize, place: usize, inverse: usize, distinct: usize, lengths: usize): u32 {
  memory.fill(table, 0, (<usize>mask + 1) << 2);
  let groups: usize = <usize>servers << segmentBits;
  memory.fill(lengths, 0, groups << 2);
  let count: u32 = 0;
  let touched: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    // The slots of the signs ahead are read before they are needed: below, a wrong guess at a branch costs less then.
    if ((i & (AHEAD - 1)) == 0) {
      let end = min<usize>(i + 2 * AHEAD, n);
      for (let j = i + AHEAD; j < end; j++) touched += load<u32>(table + (<usize>slotOf(load<u64>(signs + (j << 3)), mask) << 2));
    }
    let sign = load<u64>(signs + (i << 3));
    let slot = slotOf(sign, mask);
    while (true) {
      let found = load<u32>(table + (<usize>slot << 2));
      if (found == 0) {
        store<u64>(arrival + (<usize>count << 3), sign);
        store<u32>(inverse + (i << 2), count);
        store<u32>(table + (<usize>slot << 2), ++count);
        break;
      }
      if (load<u64>(arrival + (<usize>(found - 1) << 3)) == sign) {
        store<u32>(inverse + (i << 2), found - 1);
        break;
      }
      slot = (slot + 1) & mask;
    }
  }
  sink = touched;
  if (groups == 1) {
    memory.copy(distinct, arrival, <usize>count << 3);
    store<u32>(lengths, count);
    return count;
  }
  // A counting sort by server and segment; `table` has done its work and holds the running offsets.
  for (let u: u32 = 0; u < count; u++) {
    let at = lengths + (groupOf(load<u64>(arrival + (<usize>u << 3)), segmentBits) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
  let offset: u32 = 0;
  for (let g: usize = 0; g < groups; g++) {
    store<u32>(table + (g << 2), offset);
    offset += load<u32>(lengths + (g << 2));
  }
  for (let u: u32 = 0; u < count; u++) {
    let sign = load<u64>(arrival + (<usize>u << 3));
    let at = table + (groupOf(sign, segmentBits) << 2);
    let to = load<u32>(at);
    store<u32>(at, to + 1);
    store<u32>(place + (<usize>u << 2), to);
    store<u64>(distinct + (<usize>to << 3), sign);
  }
  for (let i: usize = 0; i < n; i++) {
    store<u32>(inverse + (i << 2), load<u32>(place + (<usize>load<u32>(inverse + (i << 2)) << 2)));
  }
  return count;
}

// One multiplication is enough for a table this small and this empty.
@inline function slotOf(sign: u64, mask: u32): u32 {
  return <u32>((sign * GOLDEN) >> 40) & mask;
}

@inline function groupOf(sign: u64, bits: i32): usize {
  let segment = bits ? <usize>(mix64(sign) >> (64 - bits)) : 0;
  if (servers == 1) return segment;
  // Without shards the owner is drawn by hash, from other bits of it than the segment.
  let owner = shards ? <u32>(sign % shards) / shardsPerServer : <u32>mix64(sign) % servers;
  return <usize>owner << bits | segment;
}

/** Keeps the signs and counts of chosen slots: `wanted` is a byte per slot. Returns how many signs were kept. */
export function select(signs: usize, counts: usize, samples: u32, slots: u32, wanted: usize, outSigns: usize, outCounts: usize): u32 {
  let first = outSigns;
  for (let i: u32 = 0; i < samples; i++) {
    for (let s: u32 = 0; s < slots; s++, counts += 4) {
      let count = load<u32>(counts);
      if (load<u8>(wanted + s)) {
        store<u32>(outCounts, count);
        outCounts += 4;
        for (let k: u32 = 0; k < count; k++, outSigns += 8) store<u64>(outSigns, load<u64>(signs + (<usize>k << 3)));
      }
      signs += <usize>count << 3;
    }
  }
  return <u32>((outSigns - first) >> 3);
}

@inline function copy(to: usize, from: usize, bytes: usize): void {
  let end = from + bytes;
  for (; from + 16 <= end; from += 16, to += 16) v128.store(to, v128.load(from));
  for (; from < end; from += 4, to += 4) store<u32>(to, load<u32>(from));
}

@inline function add(to: usize, from: usize, bytes: usize): void {
  let end = from + bytes;
  for (; from + 16 <= end; from += 16, to += 16) v128.store(to, f32x4.add(v128.load(to), v128.load(from)));
  for (; from < end; from += 4, to += 4) store<f32>(to, load<f32>(to) + load<f32>(from));
}

@inline function addScaled(to: usize, from: usize, bytes: usize, factor: f32): void {
  let end = from + bytes;
  let factors = f32x4.splat(factor);
  for (; from + 16 <= end; from += 16, to += 16) v128.store(to, f32x4.add(v128.load(to), f32x4.mul(factors, v128.load(from))));
  for (; from < end; from += 4, to += 4) store<f32>(to, load<f32>(to) + factor * load<f32>(from));
}

@inline function poolFactor(pooling: i32, count: u32): f32 {
  return pooling == MEAN ? 1 / <f32>count : pooling == SQRTN ? 1 / sqrt<f32>(<f32>count) : 1;
}

/** One sign in every cell and every slot wanted in order: out[i] = rows[inverse[i]]. */
export function expandSingle(inverse: usize, n: u32, rows: usize, dim: u32, out: usize): void {
  let bytes = <usize>dim << 2;
  for (let i: usize = 0; i < n; i++, out += bytes) copy(out, rows + <usize>load<u32>(inverse + (i << 2)) * bytes, bytes);
}

/**
 * Any number of signs in a cell (one slot of one sample), pooled; an empty cell is zero. `targets` says for each of the
 * `slots` slots in counts at which of the `width` places of out it goes, -1: nowhere.
 */
export function expandPooled(inverse: usize, counts: usize, samples: u32, slots: u32, targets: usize, rows: usize, dim: u32, width: u32, out: usize, pooling: i32): void {
  let bytes = <usize>dim << 2;
  memory.fill(out, 0, <usize>samples * width * bytes);
  for (let i: u32 = 0; i < samples; i++, out += <usize>width * bytes) {
    for (let s: usize = 0; s < slots; s++, counts += 4) {
      let count = load<u32>(counts);
      let target = load<i32>(targets + (s << 2));
      if (target >= 0) {
        let factor = poolFactor(pooling, count);
        let cell = out + <usize>target * bytes;
        for (let k: usize = 0; k < count; k++) addScaled(cell, rows + <usize>load<u32>(inverse + (k << 2)) * bytes, bytes, factor);
      }
      inverse += <usize>count << 2;
    }
  }
}

/** One slot as a padded sequence: out [samples, length, dim] and mask [samples, length]; signs past `length` are dropped. */
export function expandSequence(inverse: usize, counts: usize, samples: u32, slots: u32, slot: u32, rows: usize, dim: u32, length: u32, out: usize, mask: usize): void {
  let bytes = <usize>dim << 2;
  memory.fill(out, 0, <usize>samples * length * bytes);
  memory.fill(mask, 0, (<usize>samples * length) << 2);
  for (let i: u32 = 0; i < samples; i++, out += <usize>length * bytes, mask += <usize>length << 2) {
    for (let s: u32 = 0; s < slots; s++, counts += 4) {
      let count = load<u32>(counts);
      if (s == slot) {
        let kept = min(count, length);
        for (let k: usize = 0; k < kept; k++) {
          copy(out + k * bytes, rows + <usize>load<u32>(inverse + (k << 2)) * bytes, bytes);
          store<f32>(mask + (k << 2), 1);
        }
      }
      inverse += <usize>count << 2;
    }
  }
}

/** The reverse of expandSingle: adds gradient i to merged[inverse[i]]. */
export function mergeSingle(inverse: usize, n: u32, gradients: usize, dim: u32, merged: usize): void {
  let bytes = <usize>dim << 2;
  for (let i: usize = 0; i < n; i++, gradients += bytes) add(merged + <usize>load<u32>(inverse + (i << 2)) * bytes, gradients, bytes);
}

/** The reverse of expandPooled. */
export function mergePooled(inverse: usize, counts: usize, samples: u32, slots: u32, targets: usize, gradients: usize, dim: u32, width: u32, merged: usize, pooling: i32): void {
  let bytes = <usize>dim << 2;
  for (let i: u32 = 0; i < samples; i++, gradients += <usize>width * bytes) {
    for (let s: usize = 0; s < slots; s++, counts += 4) {
      let count = load<u32>(counts);
      let target = load<i32>(targets + (s << 2));
      if (target >= 0) {
        let factor = poolFactor(pooling, count);
        let cell = gradients + <usize>target * bytes;
        for (let k: usize = 0; k < count; k++) addScaled(merged + <usize>load<u32>(inverse + (k << 2)) * bytes, cell, bytes, factor);
      }
      inverse += <usize>count << 2;
    }
  }
}

/** The reverse of expandSequence. */
export function mergeSequence(inverse: usize, counts: usize, samples: u32, slots: u32, slot: u32, gradients: usize, dim: u32, length: u32, merged: usize): void {
  let bytes = <usize>dim << 2;
  for (let i: u32 = 0; i < samples; i++, gradients += <usize>length * bytes) {
    for (let s: u32 = 0; s < slots; s++, counts += 4) {
      let count = load<u32>(counts);
      if (s == slot) {
        let kept = min(count, length);
        for (let k: usize = 0; k < kept; k++) add(merged + <usize>load<u32>(inverse + (k << 2)) * bytes, gradients + k * bytes, bytes);
      }
      inverse += <usize>count << 2;
    }
  }
}

/**
 * What a batch shows of each distinct sign: [slot, shows, clicks]. Samples bring `shows` and `clicks` [samples] each time they
 * have a sign; `numbers` are those of the `slots` slots in counts.
 */
export function countShowClick(inverse: usize, counts: usize, samples: u32, slots: u32, numbers: usize, shows: usize, clicks: usize, out: usize): void {
  for (let i: usize = 0; i < samples; i++) {
    let show = load<f32>(shows + (i << 2)), click = load<f32>(clicks + (i << 2));
    for (let s: usize = 0; s < slots; s++, counts += 4) {
      let slot = load<f32>(numbers + (s << 2));
      for (let k = load<u32>(counts); k > 0; k--, inverse += 4) addShowClick(out + <usize>load<u32>(inverse) * 12, slot, show, click);
    }
  }
}

/** Several contributions' [slot, shows, clicks] as one: counts are added, the slot is the last one's. */
export function mergeShowClick(inverse: usize, n: u32, shown: usize, merged: usize): void {
  for (let i: usize = 0; i < n; i++, shown += 12) {
    addShowClick(merged + <usize>load<u32>(inverse + (i << 2)) * 12, load<f32>(shown), load<f32>(shown + 4), load<f32>(shown + 8));
  }
}

@inline function addShowClick(at: usize, slot: f32, show: f32, click: f32): void {
  store<f32>(at, slot);
  store<f32>(at + 4, load<f32>(at + 4) + show);
  store<f32>(at + 8, load<f32>(at + 8) + click);
}

/** Adds predictions to the AUC histogram (Paddle's buckets): u32 positives [thresholds + 1], then negatives. Returns NaNs seen. */
export function histogram(predictions: usize, stride: u32, labels: usize, n: u32, thresholds: u32, buckets: usize): u32 {
  let bad: u32 = 0;
  let negatives = buckets + ((<usize>thresholds + 1) << 2);
  for (let i: u32 = 0; i < n; i++, predictions += <usize>stride << 2, labels += 4) {
    let p = load<f32>(predictions);
    if (!(p >= 0 && p <= 1)) { bad++; continue; }
    let at = (load<f32>(labels) > 0 ? buckets : negatives) + (<usize>(p * <f32>thresholds) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
  return bad;
}

/** Sum of squares in double precision, for clipping by norm. */
export function sumSquares(values: usize, n: u32): f64 {
  let sum: f64 = 0;
  for (let end = values + (<usize>n << 2); values < end; values += 4) { let x = <f64>load<f32>(values); sum += x * x; }
  return sum;
}

/** Largest of n counts: 1 allows expandSingle (with the smallest being 1 too), and it is a sequence's length. */
export function largest(counts: usize, n: u32): u32 {
  let most: u32 = 0;
  for (let end = counts + (<usize>n << 2); counts < end; counts += 4) most = max(most, load<u32>(counts));
  return most;
}

export function scale(values: usize, n: u32, factor: f32): void {
  for (let end = values + (<usize>n << 2); values < end; values += 4) store<f32>(values, load<f32>(values) * factor);
}

export function clamp(values: usize, n: u32, low: f32, high: f32): void {
  for (let end = values + (<usize>n << 2); values < end; values += 4) store<f32>(values, max(low, min(high, load<f32>(values))));
}
