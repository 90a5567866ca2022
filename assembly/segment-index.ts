// The index of a segment: pages of 256 slots of (sign u64, row address u32, tick u32), probed linearly; address 0 is an
// empty slot, so any sign is legal; the tick says when the row was last wanted, where some rows are kept elsewhere. A full page splits in two new ones; the old one is reused when no thread can still be
// reading it.
import { mix64 } from "./mix";
import { allocate, DEPTH, DIRECTORY, EPOCH, MAX_DEPTH, RETIRED, RETIRED_HEAD, RETIRED_TAIL, SLOTS, SWEPT, THREADS } from "./segment-memory";

export const SLOT_BYTES: u32 = 16;
export const PAGE_SLOTS: u32 = 256;
export const PAGE_LIMIT: u32 = 192; // 75 %: two to three probes a hit
// A page's trailer: count, local depth, next retired page, epoch it retired in.
export const PAGE_COUNT: u32 = PAGE_SLOTS * SLOT_BYTES;
export const PAGE_DEPTH: u32 = PAGE_COUNT + 4;
const PAGE_NEXT: u32 = PAGE_COUNT + 8;
const PAGE_EPOCH: u32 = PAGE_COUNT + 12;
const PAGE_BYTES: u32 = PAGE_COUNT + 64;

let thread: usize = 0;

export function setThread(number: usize): void { thread = number; }

/** The first page of an empty segment. */
export function createIndex(): void { store<u32>(DIRECTORY, <u32>allocate(PAGE_BYTES)); }

/** Which bits of a hash choose the directory's entry now. */
@inline export function directoryBits(): u64 { return (<u64>1 << atomic.load<u32>(DEPTH)) - 1; }

@inline export function pageAt(hash: u64, bits: u64): usize {
  return atomic.load<u32>(DIRECTORY + (<usize>((hash >> 8) & bits) << 2));
}

/** The row's address, or 0. */
@inline export function find(page: usize, hash: u64, sign: u64): usize {
  let i: usize = <usize>(hash & (PAGE_SLOTS - 1));
  while (true) {
    let slot = page + i * SLOT_BYTES;
    let row = atomic.load<u32>(slot + 8);
    if (row == 0) return 0;
    if (load<u64>(slot) == sign) return row;
    i = (i + 1) & (PAGE_SLOTS - 1);
  }
  return 0;
}

// The address is stored last and atomically: a reader that sees it sees the sign and the filled row.
export function place(page: usize, hash: u64, sign: u64, row: u32, tick: u32): void {
  let i: usize = <usize>(hash & (PAGE_SLOTS - 1));
  while (load<u32>(page + i * SLOT_BYTES + 8)) i = (i + 1) & (PAGE_SLOTS - 1);
  let slot = page + i * SLOT_BYTES;
  store<u64>(slot, sign);
  store<u32>(slot + 12, tick);
  atomic.store<u32>(slot + 8, row);
  store<u32>(page + PAGE_COUNT, load<u32>(page + PAGE_COUNT) + 1);
}

/** Makes a page whole after slots were emptied: probing stops at the first empty one. Only under the lock, with no reader. */
export function sweep(page: usize): void {
  memory.fill(SWEPT, 0, PAGE_COUNT + 4);
  for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
    let row = load<u32>(slot + 8);
    if (!row) continue;
    let sign = load<u64>(slot);
    place(SWEPT, mix64(sign), sign, row, load<u32>(slot + 12));
  }
  memory.copy(page, SWEPT, PAGE_COUNT + 4);
}

/** Splits the page of `hash`; false when the segment is full. Only under the lock. */
export function split(page: usize, hash: u64): bool {
  let depth = load<u32>(page + PAGE_DEPTH);
  let total = atomic.load<u32>(DEPTH);
  if (depth == MAX_DEPTH) return false;
  let low = allocatePage(depth + 1), high = allocatePage(depth + 1);
  if (!low || !high) return false;
  for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
    let row = load<u32>(slot + 8);
    if (!row) continue;
    let sign = load<u64>(slot);
    let h = mix64(sign);
    place((h >> (8 + depth)) & 1 ? high : low, h, sign, row, load<u32>(slot + 12));
  }
  if (depth == total) {
    memory.copy(DIRECTORY + (4 << total), DIRECTORY, 4 << total);
    atomic.store<u32>(DEPTH, total + 1);
    total++;
  }
  let prefix: u32 = <u32>(hash >> 8) & ((1 << depth) - 1);
  for (let entry = prefix; entry < <u32>1 << total; entry += 1 << depth) {
    atomic.store<u32>(DIRECTORY + (<usize>entry << 2), <u32>((entry >> depth) & 1 ? high : low));
  }
  retire(page);
  return true;
}

/**
 * An empty page that will take the place of another; 0 when the segment is full, or when so many that were replaced are still being read
 * that it is better to wait: a segment that gives up rows must not grow by it. Only under the lock.
 */
export function pageLike(page: usize): usize {
  let head = <usize>load<u32>(RETIRED_HEAD);
  if (load<u32>(RETIRED) >= 8 + (1 << load<u32>(DEPTH)) / 32 && !unread(load<u32>(head + PAGE_EPOCH))) return 0;
  return allocatePage(load<u32>(page + PAGE_DEPTH));
}

/** `other` takes the place of the page of `first`, its smallest entry; whoever reads the page sees it as it was. Only under the lock. */
export function exchange(page: usize, other: usize, first: u32): void {
  let depth = load<u32>(page + PAGE_DEPTH);
  for (let entry = first; entry < <u32>1 << atomic.load<u32>(DEPTH); entry += 1 << depth) {
    atomic.store<u32>(DIRECTORY + (<usize>entry << 2), <u32>other);
  }
  retire(page);
}

// ---- pages that other threads may still be reading ----

/** Between these two, pages this thread may have seen are not used again. */
export function enter(): void { atomic.store<u32>(SLOTS + (thread << 2), atomic.load<u32>(EPOCH)); }
export function leave(): void { atomic.store<u32>(SLOTS + (thread << 2), 0); }

function retire(page: usize): void {
  let epoch = atomic.add<u32>(EPOCH, 1);
  store<u32>(page + PAGE_EPOCH, epoch);
  store<u32>(page + PAGE_NEXT, 0);
  let tail = <usize>load<u32>(RETIRED_TAIL);
  if (tail) store<u32>(tail + PAGE_NEXT, <u32>page); else store<u32>(RETIRED_HEAD, <u32>page);
  store<u32>(RETIRED_TAIL, <u32>page);
  store<u32>(RETIRED, load<u32>(RETIRED) + 1);
}

function allocatePage(depth: u32): usize {
  let page = <usize>load<u32>(RETIRED_HEAD);
  if (page && unread(load<u32>(page + PAGE_EPOCH))) {
    let next = load<u32>(page + PAGE_NEXT);
    store<u32>(RETIRED_HEAD, next);
    if (!next) store<u32>(RETIRED_TAIL, 0);
    store<u32>(RETIRED, load<u32>(RETIRED) - 1);
    memory.fill(page, 0, PAGE_BYTES);
  } else {
    page = allocate(PAGE_BYTES);
  }
  if (page) store<u32>(page + PAGE_DEPTH, depth);
  return page;
}

// This thread holds the lock and reads the directory anew under it, so its own slot does not count.
function unread(epoch: u32): bool {
  for (let t: usize = 0; t < THREADS; t++) {
    let entered = atomic.load<u32>(SLOTS + (t << 2));
    if (t != thread && entered != 0 && entered <= epoch) return false;
  }
  return true;
}
