// Which rows have changed since somebody last asked: a byte for every 32 bytes of memory that may hold rows, so that marking
// one is a store without a lock. Two short rows may share a byte, and then count as changed together. A second bit says the same
// for saves that settle rows, which are asked for at other times.
import { allocate, MARKS, WHOLLY } from "./segment-memory";

const REGION_BITS: u32 = 20;  // the bytes of each MiB lie together, made with its first rows
const REGIONS: usize = 4096;
const GRAIN_BITS: u32 = 5;
const REGION_MARKS: u32 = 1 << (REGION_BITS - GRAIN_BITS);
export const CHANGED: u8 = 1;   // since somebody asked
export const UNSETTLED: u8 = 2; // since a save settled it
const REGION_NOTES: u32 = REGION_MARKS >> 3; // a bit a mark, behind the marks: so small that a search of all rows keeps them at hand

/** Makes room for the marks of rows in [at, at + size). Only under the lock; false when the segment is full. */
export function makeMarks(at: u64, size: u64): bool {
  for (let region = <usize>(at >> REGION_BITS); region <= <usize>((at + size - 1) >> REGION_BITS); region++) {
    if (load<u32>(MARKS + (region << 2))) continue;
    let marks = allocate(REGION_MARKS + REGION_NOTES);
    if (!marks) return false;
    store<u32>(MARKS + (region << 2), <u32>marks);
  }
  return true;
}

@inline function markOf(row: usize): usize {
  return <usize>load<u32>(MARKS + ((row >> REGION_BITS) << 2)) + ((row & ((1 << REGION_BITS) - 1)) >> GRAIN_BITS);
}

/** After the row has changed: one who clears the mark first and then reads the row misses nothing. */
@inline export function mark(row: usize): void { store<u8>(markOf(row), CHANGED | UNSETTLED); }

/** Notes which rows are marked as `kind` now; whether any is. */
export function noteMarks(kind: u8): bool {
  let any = false;
  for (let region: usize = 0; region < REGIONS; region++) {
    let marks = <usize>load<u32>(MARKS + (region << 2));
    if (!marks) continue;
    let notes = marks + REGION_MARKS;
    for (let i: usize = 0; i < REGION_MARKS; i += 16) {
      let bits = i8x16.bitmask(i8x16.ne(v128.and(v128.load(marks + i), i8x16.splat(kind)), i8x16.splat(0)));
      store<u16>(notes + (i >> 3), <u16>bits);
      if (bits) any = true;
    }
  }
  return any;
}

/** As of the last noteMarks. Of address 0, any answer. */
@inline export function isNoted(row: usize): u32 {
  let marks = <usize>load<u32>(MARKS + ((row >> REGION_BITS) << 2));
  let grain = (row & ((1 << REGION_BITS) - 1)) >> GRAIN_BITS;
  return (load<u8>(marks + REGION_MARKS + (grain >> 3)) >> <u8>(grain & 7)) & 1;
}

/** A save has looked at the row, and perhaps changed it. No other thread may work meanwhile. */
@inline export function markSettled(row: usize, changed: bool): void {
  let at = markOf(row);
  store<u8>(at, changed ? CHANGED : load<u8>(at) & CHANGED);
}

/** A save has changed the row, and it counts for the next as before. */
@inline export function markChanged(row: usize): void {
  let at = markOf(row);
  store<u8>(at, load<u8>(at) | CHANGED);
}

export function markRows(addresses: usize, n: u32): void {
  for (let i: usize = 0; i < n; i++) {
    let row = <usize>load<u32>(addresses + (i << 2));
    if (row) mark(row);
  }
}

/** Every row may have changed, or be gone. */
export function markAll(): void { atomic.store<u32>(WHOLLY, 1); }

export function allMarked(): bool { return atomic.load<u32>(WHOLLY) != 0; }

/** What changed so far is known. No other thread may work meanwhile. */
export function unmark(): void {
  for (let region: usize = 0; region < REGIONS; region++) {
    let marks = <usize>load<u32>(MARKS + (region << 2));
    if (!marks) continue;
    for (let i: usize = 0; i < REGION_MARKS; i += 16) v128.store(marks + i, v128.and(v128.load(marks + i), i8x16.splat(UNSETTLED)));
  }
  atomic.store<u32>(WHOLLY, 0);
}
