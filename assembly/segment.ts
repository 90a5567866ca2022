// One segment of a sparse table: a hash index from 64-bit sign to row address, and rows that never move. The memory is
// shared by all trainer threads. Lookups take no lock; new rows take the segment's lock, once for a batch.
import { copyBytes } from "./copy";
import { active, admits, columns, createRow, fades, pullRow, pushRow, saved, settleRow } from "./accessor";
import { mix64 } from "./mix";
import { applyRows } from "./rules";
import { createIndex, directoryBits, enter, find, leave, PAGE_COUNT, PAGE_DEPTH, PAGE_LIMIT, PAGE_SLOTS, pageAt, place, setThread, SLOT_BYTES, split, sweep } from "./segment-index";
import { CHANGED, isNoted, mark, markAll, markChanged, markRows, markSettled, noteMarks, UNSETTLED } from "./segment-marks";
import { acquire, createMemory, DEPTH, DIRECTORY, release, ROWS, TICK } from "./segment-memory";
import { hasRoom, packed } from "./segment-precision";
import { allocateRow, catchUp, clocked, copied, copyCurrent, copyRow, countRows, dim, freeRow, imagine, initRow, rowBytes, setLayout, stamp, stepPacked, touchRows } from "./segment-rows";
export { setAccessor, setKeeping, setPart } from "./accessor";
export { configure, setStep } from "./rules";
export { allMarked, unmark } from "./segment-marks";
export { reserve, usedBytes } from "./segment-memory";
export { add, bring, give, pick, sent, setDecays, take } from "./segment-exchange";
export { setClock, setExchange, touched } from "./segment-rows";
export { evict, fadeRows, pickRows, present, setTick, settleRows, touch, weigh } from "./segment-tier";

export let sink: u32 = 0; // keeps the compiler from dropping reads made for the cache's sake

/** Called once per instance: which thread this is and what a row looks like. */
export function attach(thread: i32, floats: i32, states: i32, clocked: bool, seed: u64, kind: i32, a: f64, b: f64, stateInit: f32, packed: bool): void {
  setThread(thread);
  setLayout(floats, states, clocked, seed, kind, a, b, stateInit, packed);
}

/** Called once per segment, before any other instance attaches. */
export function create(): void {
  createMemory();
  createIndex();
}

export function rowCount(): u32 { return atomic.load<u32>(ROWS); }

/**
 * Finds the row of each of `n` signs, creating missing ones when `insert`; writes its address (0: absent) and its weights.
 * Returns how many were absent, or -1 when the segment is full.
 */
export function lookup(signs: usize, n: u32, addresses: usize, rows: usize, insert: bool): i32 {
  if (!hasRoom(false)) return -1;
  enter();
  let missing = findRows(signs, n, addresses);
  let full = insert && missing > 0 && !insertMissing(signs, n, addresses);
  let bytes = dim << 2;
  for (let i: usize = 0, to = rows; i < n; i++, to += bytes) {
    let row = <usize>load<u32>(addresses + (i << 2));
    if (!row) { imagine(to, load<u64>(signs + (i << 3))); continue; }
    if (clocked && !insert) { copyCurrent(to, row); continue; }
    if (clocked) catchUp(row, load<u64>(signs + (i << 3)));
    copyRow(to, row);
  }
  if (insert && clocked) markRows(addresses, n);
  leave();
  return full ? -1 : missing;
}

/** As lookup, without what the rows hold. */
export function locate(signs: usize, n: u32, addresses: usize, insert: bool): i32 {
  enter();
  let missing = findRows(signs, n, addresses);
  let full = insert && missing > 0 && !insertMissing(signs, n, addresses);
  leave();
  return full ? -1 : missing;
}

/** Applies the configured optimizer to `n` rows with gradients [n, dim]. Of their signs only rounding knows: 0 where weights are float32. */
export function update(signs: usize, addresses: usize, gradients: usize, n: u32): void {
  touchRows(addresses, n, 0);
  if (clocked) {
    for (let i: usize = 0; i < n; i++) {
      let row = <usize>load<u32>(addresses + (i << 2));
      catchUp(row, packed ? load<u64>(signs + (i << 3)) : 0);
      stamp(row);
    }
  }
  if (packed) stepPacked(signs, addresses, gradients, n); else applyRows(addresses, n, gradients, dim);
  if (copied) countRows(addresses, n);
  markRows(addresses, n);
}

/**
 * Overwrites whole rows (weight and state): loading a saved table. Missing ones are created when `insert`, else passed over, as
 * are signs of other segments; this is segment `segment` of 2^bits. Returns rows written, or -1 when full.
 */
export function write(signs: usize, n: u32, rows: usize, bits: i32, segment: u32, insert: bool): i32 {
  acquire();
  let written = 0;
  for (let i: usize = 0; i < n && written >= 0; i++, rows += rowBytes) {
    let sign = load<u64>(signs + (i << 3));
    let hash = mix64(sign);
    if (bits && <u32>(hash >> (64 - bits)) != segment) continue;
    let row = insert ? findOrInsert(sign) : find(pageAt(hash, directoryBits()), hash, sign);
    if (row) { copyBytes(row, rows, rowBytes); mark(row); written++; } else if (insert) written = -1;
  }
  release();
  return written;
}

/** Copies out the whole rows of those of `n` signs that have one, which then stand first in `signs`; returns how many. */
export function read(signs: usize, n: u32, addresses: usize, rows: usize): u32 {
  enter();
  findRows(signs, n, addresses);
  let found: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let row = <usize>load<u32>(addresses + (i << 2));
    if (!row) continue;
    store<u64>(signs + (<usize>found << 3), load<u64>(signs + (i << 3)));
    copyBytes(rows + <usize>found * rowBytes, row, rowBytes);
    found++;
  }
  leave();
  return found;
}

/** Puts those of `n` signs first that have no row; returns how many. */
export function absent(signs: usize, n: u32, addresses: usize): u32 {
  enter();
  findRows(signs, n, addresses);
  let missing: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    if (load<u32>(addresses + (i << 2))) continue;
    store<u64>(signs + (<usize>missing << 3), load<u64>(signs + (i << 3)));
    missing++;
  }
  leave();
  return missing;
}

/** Forgets every row; their memory is used again. No other thread may work meanwhile. */
export function clear(): void {
  acquire();
  let size: u32 = 1 << atomic.load<u32>(DEPTH);
  for (let entry: u32 = 0; entry < size; entry++) {
    let page = <usize>load<u32>(DIRECTORY + (<usize>entry << 2));
    if (entry >> load<u32>(page + PAGE_DEPTH)) continue;
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (row) freeRow(row);
    }
    memory.fill(page, 0, PAGE_COUNT + 4);
  }
  atomic.store<u32>(ROWS, 0);
  markAll();
  release();
}

/**
 * Copies out the signs and whole rows of directory entries [from, to) whose page is first seen there, at most `capacity`
 * rows; returns rows written. Call with no other thread inserting. `next` receives where to go on. Of an accessor's rows only
 * those that save mode `mode` writes; -1: all; -2: those that were marked as changed when this began with entry 0.
 */
export function scan(from: u32, capacity: u32, signs: usize, rows: usize, next: usize, mode: i32): i32 {
  let size: u32 = 1 << atomic.load<u32>(DEPTH);
  let written: u32 = 0;
  let entry = mode == -2 && from == 0 && !noteMarks(CHANGED) ? size : from;
  for (; entry < size; entry++) {
    let page = <usize>load<u32>(DIRECTORY + (<usize>entry << 2));
    if (entry >> load<u32>(page + PAGE_DEPTH)) continue; // seen under a smaller entry
    if (written + load<u32>(page + PAGE_COUNT) > capacity) break;
    if (mode == -2) {
      if (load<u32>(page + PAGE_COUNT)) written += copyNoted(page, signs + (<usize>written << 3), rows + <usize>written * rowBytes);
      continue;
    }
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (!row || (mode >= 0 && !saved(row, mode))) continue;
      store<u64>(signs + (<usize>written << 3), load<u64>(slot));
      copyBytes(rows + <usize>written * rowBytes, row, rowBytes);
      written++;
    }
  }
  store<u32>(next, entry >= size ? 0xffffffff : entry);
  return written;
}

// Few of many rows are marked: their slots are put down without a branch, which would mostly be guessed wrong. They lie where
// the signs will be, and are read from the last on: a sign covers none that is still to be read. The page has rows.
function copyNoted(page: usize, signs: usize, rows: usize): u32 {
  let found: usize = 0;
  for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
    store<u32>(signs + (found << 2), <u32>slot);
    let row = <usize>load<u32>(slot + 8);
    found += isNoted(row) & <u32>(row != 0);
  }
  for (let i = found; i-- > 0; ) {
    let slot = <usize>load<u32>(signs + (i << 2));
    store<u64>(signs + (i << 3), load<u64>(slot));
    copyBytes(rows + i * rowBytes, <usize>load<u32>(slot + 8), rowBytes);
  }
  return <u32>found;
}

// ---- accessors ----

/** Writes what a pull gives of `n` signs; nothing is created. */
export function pull(signs: usize, n: u32, addresses: usize, rows: usize): void {
  enter();
  findRows(signs, n, addresses);
  touchRows(addresses, n, 0);
  for (let i: usize = 0; i < n; i++, rows += columns << 2) pullRow(rows, <usize>load<u32>(addresses + (i << 2)));
  leave();
}

/**
 * Counts `n` signs as seen and applies their gradients [n, columns], `scale` times; `shown` [n, 3] is slot, show and click.
 * Signs that the entry policy admits get rows; `draw` changes with every push. Returns -1 when the segment is full.
 */
export function push(signs: usize, n: u32, addresses: usize, gradients: usize, shown: usize, scale: f64, draw: u64): i32 {
  enter();
  let missing = findRows(signs, n, addresses);
  let room = hasRoom(false) && (missing == 0 || insertAdmitted(signs, n, addresses, draw));
  if (room) {
    touchRows(addresses, n, 0);
    for (let i: usize = 0; i < n; i++, gradients += columns << 2, shown += 12) {
      let row = <usize>load<u32>(addresses + (i << 2));
      if (row) pushRow(row, load<u64>(signs + (i << 3)), gradients, shown, scale, draw);
    }
    markRows(addresses, n);
  }
  leave();
  return room ? 0 : -1;
}

/**
 * After a save of `mode`, on every row; those that this changes are marked. No other thread may work meanwhile. Of a delta the rows
 * that were trained or loaded since the last one: what had too low a score by then still has it.
 */
export function settle(mode: i32): void {
  if (mode == 0 || (mode == 1 && !noteMarks(UNSETTLED))) return;
  let size: u32 = 1 << atomic.load<u32>(DEPTH);
  for (let entry: u32 = 0; entry < size; entry++) {
    let page = <usize>load<u32>(DIRECTORY + (<usize>entry << 2));
    if (entry >> load<u32>(page + PAGE_DEPTH)) continue;
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (!row || (mode == 1 && !isNoted(row))) continue;
      let changed = settleRow(row, mode);
      if (mode == 3) markChanged(row);
      else markSettled(row, changed);
    }
  }
}

/** A day has passed: show and click fade, rows that are worth too little go. Returns how many. No other thread may work meanwhile. */
export function shrink(): u32 {
  acquire();
  let size: u32 = 1 << atomic.load<u32>(DEPTH);
  let deleted: u32 = 0;
  for (let entry: u32 = 0; entry < size; entry++) {
    let page = <usize>load<u32>(DIRECTORY + (<usize>entry << 2));
    if (entry >> load<u32>(page + PAGE_DEPTH)) continue;
    let gone: u32 = 0;
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (!row) continue;
      if (!fades(row)) {
        mark(row);
        continue;
      }
      store<u32>(slot + 8, 0);
      freeRow(row);
      gone++;
    }
    if (gone) sweep(page);
    deleted += gone;
  }
  atomic.store<u32>(ROWS, load<u32>(ROWS) - deleted);
  markAll();
  release();
  return deleted;
}

// The address of each sign's row, 0 where it has none; returns how many have none.
function findRows(signs: usize, n: u32, addresses: usize): u32 {
  let bits = directoryBits();
  // A first read of every slot, with nothing decided by it, lets the cache misses overlap; a search that branches on
  // what it reads would wait for each in turn.
  let touched: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let hash = mix64(load<u64>(signs + (i << 3)));
    touched += load<u32>(pageAt(hash, bits) + (<u32>hash & (PAGE_SLOTS - 1)) * SLOT_BYTES);
  }
  sink = touched;
  let missing: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let sign = load<u64>(signs + (i << 3));
    let hash = mix64(sign);
    let row = find(pageAt(hash, bits), hash, sign);
    if (row == 0) missing++;
    store<u32>(addresses + (i << 2), <u32>row);
  }
  return missing;
}

function insertAdmitted(signs: usize, n: u32, addresses: usize, draw: u64): bool {
  acquire();
  let room = true;
  for (let i: usize = 0; i < n && room; i++) {
    let sign = load<u64>(signs + (i << 3));
    if (load<u32>(addresses + (i << 2)) || !admits(sign, draw)) continue;
    let row = findOrInsert(sign);
    store<u32>(addresses + (i << 2), <u32>row);
    room = row != 0;
  }
  release();
  return room;
}

// The lock is taken once for all rows of a batch that are missing. A miss without it may be stale (a page was split or
// filled meanwhile), so each is looked up again under it. False when the segment is full.
function insertMissing(signs: usize, n: u32, addresses: usize): bool {
  acquire();
  let room = true;
  for (let i: usize = 0; i < n && room; i++) {
    if (load<u32>(addresses + (i << 2))) continue;
    let row = findOrInsert(load<u64>(signs + (i << 3)));
    store<u32>(addresses + (i << 2), <u32>row);
    room = row != 0;
  }
  release();
  return room;
}

// Only under the lock. 0 when the segment is full.
function findOrInsert(sign: u64): usize {
  let hash = mix64(sign);
  let page = pageAt(hash, directoryBits());
  let row = find(page, hash, sign);
  if (row) return row;
  while (load<u32>(page + PAGE_COUNT) >= PAGE_LIMIT) {
    if (!split(page, hash)) return 0;
    page = pageAt(hash, directoryBits());
  }
  row = allocateRow();
  if (!row) return 0;
  if (!hasRoom(true)) return 0;
  if (active) createRow(row, sign); else initRow(row, sign);
  mark(row);
  place(page, hash, sign, <u32>row, load<u32>(TICK));
  atomic.store<u32>(ROWS, load<u32>(ROWS) + 1);
  return row;
}
