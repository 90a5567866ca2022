// Rows of a segment that come and go: which were wanted when, which are worth least, and out they go. One thread does all of this, beside
// others that look rows up: a row that was wanted at `oldest` or later is in somebody's hands and stays where it is.
import { fades, saved, settleRow, unseenDays, worth } from "./accessor";
import { copyBytes } from "./copy";
import { mix64 } from "./mix";
import { directoryBits, exchange, find, pageLike, PAGE_COUNT, PAGE_DEPTH, PAGE_SLOTS, pageAt, place, SLOT_BYTES } from "./segment-index";
import { acquire, DEPTH, DIRECTORY, release, ROWS, TICK } from "./segment-memory";
import { freeRow, rowBytes } from "./segment-rows";

// What decides: when a row was last wanted, its score, or its days unseen and then when it was last wanted.
const SCORE: i32 = 1;
const UNSEEN_DAYS: i32 = 2;
const GRADES: i32 = 4096;

/** Rows that are made from now on were last wanted at `tick`. */
export function setTick(tick: u32): void { atomic.store<u32>(TICK, tick); }

/** Notes that `n` signs are wanted at `tick`; puts those first that have no row, and returns how many. */
export function touch(signs: usize, n: u32, tick: u32): u32 {
  acquire();
  let bits = directoryBits();
  let touched: u32 = 0;
  for (let i: usize = 0; i < n; i++) { // for the cache's sake, as in findRows
    let hash = mix64(load<u64>(signs + (i << 3)));
    touched += load<u32>(pageAt(hash, bits) + (<u32>hash & (PAGE_SLOTS - 1)) * SLOT_BYTES);
  }
  let missing: u32 = touched & 0;
  for (let i: usize = 0; i < n; i++) {
    let sign = load<u64>(signs + (i << 3));
    let hash = mix64(sign);
    let slot = slotOf(pageAt(hash, bits), hash, sign);
    if (slot) { store<u32>(slot + 12, tick); continue; }
    store<u64>(signs + (<usize>missing << 3), sign);
    missing++;
  }
  release();
  return missing;
}

function slotOf(page: usize, hash: u64, sign: u64): usize {
  let i: usize = <usize>(hash & (PAGE_SLOTS - 1));
  while (true) {
    let slot = page + i * SLOT_BYTES;
    if (load<u32>(slot + 8) == 0) return 0;
    if (load<u64>(slot) == sign) return slot;
    i = (i + 1) & (PAGE_SLOTS - 1);
  }
  return 0;
}

/** flags[i] = 1 for those of `n` signs that belong to this segment, number `segment` of 2^bits, and have a row. */
export function present(signs: usize, n: u32, bits: i32, segment: u32, flags: usize): void {
  let entries = directoryBits();
  for (let i: usize = 0; i < n; i++) {
    let sign = load<u64>(signs + (i << 3));
    let hash = mix64(sign);
    if (bits && <u32>(hash >> (64 - bits)) != segment) continue;
    if (find(pageAt(hash, entries), hash, sign)) store<u8>(flags + i, 1);
  }
}

// 0 for what goes first. Ages and scores are told apart by a hundredth of themselves.
function grade(kind: i32, slot: usize, row: usize, now: u32): i32 {
  let age = fine(<f32>(now - load<u32>(slot + 12)) + 1, 127);
  if (kind == SCORE) return fine(worth(row), 107);
  if (kind == UNSEEN_DAYS) return GRADES - 1 - min(<i32>unseenDays(row) * 16 + (age >> 8), GRADES - 1);
  return GRADES - 1 - age;
}

@inline function fine(value: f32, least: i32): i32 {
  return max(0, min(GRADES - 1, (reinterpret<i32>(value) >> 16) - (least << 7)));
}

/** Counts rows by grade, but for those in somebody's hands. */
export function weigh(kind: i32, now: u32, oldest: u32, counts: usize): void {
  let size: u32 = 1 << atomic.load<u32>(DEPTH);
  acquire();
  for (let entry: u32 = 0; entry < size; entry++) {
    let page = <usize>load<u32>(DIRECTORY + (<usize>entry << 2));
    if (entry >> load<u32>(page + PAGE_DEPTH)) continue;
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (!row || load<u32>(slot + 12) >= oldest) continue;
      let count = counts + (<usize>grade(kind, slot, row, now) << 2);
      store<u32>(count, load<u32>(count) + 1);
    }
  }
  release();
}

/**
 * Takes out rows of directory entries from `from` on whose grade is at most `cutoff`, at most `capacity`; their signs and rows are
 * copied out. Returns how many; `next` receives where to go on. Threads that look up other rows are not disturbed.
 */
export function evict(kind: i32, now: u32, oldest: u32, cutoff: i32, from: u32, capacity: u32, signs: usize, rows: usize, next: usize): u32 {
  acquire();
  let size: u32 = 1 << atomic.load<u32>(DEPTH);
  let taken: u32 = 0;
  let entry = from;
  for (; entry < size && taken + PAGE_SLOTS <= capacity; entry++) {
    let page = <usize>load<u32>(DIRECTORY + (<usize>entry << 2));
    if (entry >> load<u32>(page + PAGE_DEPTH)) continue;
    let going: u32 = 0;
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (row && goes(slot, row, kind, now, oldest, cutoff)) going++;
    }
    if (!going) continue;
    let other = pageLike(page);
    if (!other) break; // to be tried again when readers have left
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (!row) continue;
      let sign = load<u64>(slot);
      if (!goes(slot, row, kind, now, oldest, cutoff)) { place(other, mix64(sign), sign, <u32>row, load<u32>(slot + 12)); continue; }
      store<u64>(signs + (<usize>taken << 3), sign);
      copyBytes(rows + <usize>taken * rowBytes, row, rowBytes);
      freeRow(row);
      taken++;
    }
    exchange(page, other, entry);
  }
  atomic.store<u32>(ROWS, load<u32>(ROWS) - taken);
  store<u32>(next, entry >= size ? 0xffffffff : entry);
  release();
  return taken;
}

@inline function goes(slot: usize, row: usize, kind: i32, now: u32, oldest: u32, cutoff: i32): bool {
  return load<u32>(slot + 12) < oldest && grade(kind, slot, row, now) <= cutoff;
}

// ---- rows of an accessor that are not in the segment ----

/** flags[i] = 1 for those of `n` rows that save mode `mode` does not write. */
export function pickRows(rows: usize, n: u32, mode: i32, flags: usize): void {
  for (let i: usize = 0; i < n; i++) if (!saved(rows + i * rowBytes, mode)) store<u8>(flags + i, 1);
}

/** A day has passed for `n` rows; flags[i] = 1 for those that go. */
export function fadeRows(rows: usize, n: u32, flags: usize): void {
  for (let i: usize = 0; i < n; i++) if (fades(rows + i * rowBytes)) store<u8>(flags + i, 1);
}

/** After a save of `mode`, on `n` rows. */
export function settleRows(rows: usize, n: u32, mode: i32): void {
  for (let i: usize = 0; i < n; i++) settleRow(rows + i * rowBytes, mode);
}
