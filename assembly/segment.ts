// One segment of a sparse table: a hash index from 64-bit sign to row address, and rows that never move. The memory is
// shared by all trainer threads. Lookups take no lock; inserts take the segment's lock for one row.
//
//   0        AssemblyScript's own constants
//   HEADER   lock, bump pointer, depth, counts, page lists, one epoch slot per thread
//   DIRECTORY  u32 page address by the low `depth` bits of the hash; doubling appends a copy, so readers never see a move
//   then     index pages, row slabs and scratch areas, in order of allocation
//
// A page holds 256 slots of (sign u64, row address u32, unused u32), probed linearly; address 0 is an empty slot, so any
// sign is legal. A full page splits in two new ones; the old one is reused when no thread can still be reading it.
import { mix64, GOLDEN } from "./mix";
import { applyRows, a as beta1, b as beta2, c as epsilon } from "./rules";
export { configure, setStep } from "./rules";

const HEADER: usize = 0x10000;
const DIRECTORY: usize = 0x20000;
const MAX_DEPTH: u32 = 21;
const FIRST_FREE: usize = DIRECTORY + (4 << MAX_DEPTH);

const LOCK: usize = HEADER;
const BUMP: usize = HEADER + 8;        // u64: next free address (may reach 2^32)
const DEPTH: usize = HEADER + 16;
const ROWS: usize = HEADER + 20;
const EPOCH: usize = HEADER + 24;
const RETIRED_HEAD: usize = HEADER + 28; // pages waiting for their readers to leave, oldest first
const RETIRED_TAIL: usize = HEADER + 32;
const SLAB: usize = HEADER + 40;       // u64 next row, u64 end of the slab
const SLAB_END: usize = HEADER + 48;
const SLOTS: usize = HEADER + 64;      // u32 epoch a thread entered at, 0 when outside
const THREADS: usize = 256;

const SLOT_BYTES: u32 = 16;
const PAGE_SLOTS: u32 = 256;
const PAGE_LIMIT: u32 = 192;           // 75 %: two to three probes a hit
const PAGE_COUNT: u32 = PAGE_SLOTS * SLOT_BYTES;     // page trailer: count, local depth, next retired, epoch retired
const PAGE_DEPTH: u32 = PAGE_COUNT + 4;
const PAGE_NEXT: u32 = PAGE_COUNT + 8;
const PAGE_EPOCH: u32 = PAGE_COUNT + 12;
const PAGE_BYTES: u32 = PAGE_COUNT + 64;
const SLAB_BYTES: u64 = 1 << 16;
const GROW_PAGES: i32 = 64;            // 4 MiB a step: memory is reserved, growing only makes it accessible
const MEMORY_LIMIT: u64 = 0xffff0000;  // the last 64 KiB stay unused so that no address wraps

// Initial values: kinds of src/program's initializers that a row can have.
const INIT_CONSTANT: i32 = 0;
const INIT_UNIFORM: i32 = 1;
const INIT_NORMAL: i32 = 2;
const INIT_TRUNCATED: i32 = 3;         // normal, redrawn beyond two deviations

let thread: usize = 0;
let dim: usize = 0;                    // floats of weight
let states: usize = 0;                 // runs of `dim` floats of optimizer state behind the weight
let rowBytes: usize = 0;
let seed: u64 = 0;
let initKind: i32 = 0;
let initA: f64 = 0;
let initB: f64 = 0;
let stateInit: f32 = 0;
let clocked: bool = false;             // a u32 behind the state holds the step of the row's last update (Adam that is not lazy)
let now: u32 = 0;
let baseRate: f64 = 0;
let spare: usize = 0;                  // room for one row in this thread's hands; 0 until it is needed
export let sink: u32 = 0;              // keeps the compiler from dropping reads made for the cache's sake

/** Called once per instance: which thread this is and what a row looks like. */
export function attach(thread_: i32, dim_: i32, states_: i32, clocked_: bool, seed_: u64, kind: i32, a: f64, b: f64, stateInit_: f32): void {
  thread = thread_; dim = dim_; states = states_; clocked = clocked_; seed = seed_;
  rowBytes = (dim * (1 + states) + (clocked ? 1 : 0)) << 2;
  initKind = kind; initA = a; initB = b; stateInit = stateInit_;
}

/** The step about to be taken and its scheduled rate before bias correction; only rows with a clock look at it. */
export function setClock(step: u32, rate: f64): void { now = step; baseRate = rate; }

/** Called once per segment, before any other instance attaches. */
export function create(): void {
  store<u64>(BUMP, FIRST_FREE);
  store<u32>(EPOCH, 1);
  let page = allocate(PAGE_BYTES);
  store<u32>(DIRECTORY, <u32>page);
}

export function rowCount(): u32 { return atomic.load<u32>(ROWS); }
export function usedBytes(): f64 { return <f64>load<u64>(BUMP) - <f64>(FIRST_FREE - DIRECTORY) + <f64>(4 << atomic.load<u32>(DEPTH)); }

/** Space for a thread's own buffers; 0 when the segment is full. */
export function reserve(bytes: u32): usize {
  acquire();
  let at = allocate(bytes);
  release();
  return at;
}

/**
 * Finds the row of each of `n` signs, creating missing ones when `insert`; writes its address (0: absent) and its weights.
 * Returns how many were absent, or -1 when the segment is full.
 */
export function lookup(signs: usize, n: u32, addresses: usize, rows: usize, insert: bool): i32 {
  enter();
  let bits: u64 = (<u64>1 << atomic.load<u32>(DEPTH)) - 1;
  // A first read of every slot, with nothing decided by it, lets the cache misses overlap; a search that branches on
  // what it reads would wait for each in turn.
  let touched: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let hash = mix64(load<u64>(signs + (i << 3)));
    let page = load<u32>(DIRECTORY + (<usize>((hash >> 8) & bits) << 2));
    touched += load<u32>(page + (<u32>hash & (PAGE_SLOTS - 1)) * SLOT_BYTES);
  }
  sink = touched;
  let missing: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let sign = load<u64>(signs + (i << 3));
    let hash = mix64(sign);
    let row = find(load<u32>(DIRECTORY + (<usize>((hash >> 8) & bits) << 2)), hash, sign);
    if (row == 0) missing++;
    store<u32>(addresses + (i << 2), <u32>row);
  }
  let full = insert && missing > 0 && !insertMissing(signs, n, addresses);
  let bytes = dim << 2;
  for (let i: usize = 0, to = rows; i < n; i++, to += bytes) {
    let row = <usize>load<u32>(addresses + (i << 2));
    if (row && clocked) { if (insert) catchUp(row, now); else row = caughtUp(row); }
    if (row) copyRow(to, row); else initWeights(to, load<u64>(signs + (i << 3)));
  }
  leave();
  return full ? -1 : missing;
}

/** Applies the configured optimizer to `n` rows with gradients [n, dim]. */
export function update(addresses: usize, gradients: usize, n: u32): void {
  let touched: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let row = <usize>load<u32>(addresses + (i << 2));
    for (let at = row; at < row + rowBytes; at += 64) touched += load<u32>(at);
  }
  sink = touched;
  if (clocked) {
    for (let i: usize = 0; i < n; i++) {
      let row = <usize>load<u32>(addresses + (i << 2));
      catchUp(row, now);
      store<u32>(row + rowBytes - 4, now);
    }
  }
  applyRows(addresses, n, gradients, dim);
}

/**
 * Overwrites whole rows (weight and state), creating missing ones: loading a saved table. Signs of other segments are passed
 * over; this is segment `segment` of 2^bits. Returns rows written, or -1 when full.
 */
export function write(signs: usize, n: u32, rows: usize, bits: i32, segment: u32): i32 {
  acquire();
  let written = 0;
  for (let i: usize = 0; i < n && written >= 0; i++, rows += rowBytes) {
    let sign = load<u64>(signs + (i << 3));
    if (bits && <u32>(mix64(sign) >> (64 - bits)) != segment) continue;
    let row = findOrInsert(sign);
    if (row) { memory.copy(row, rows, rowBytes); written++; } else written = -1;
  }
  release();
  return written;
}

/**
 * Copies out the signs and whole rows of directory entries [from, to) whose page is first seen there, at most `capacity`
 * rows; returns rows written. Call with no other thread inserting. `next` receives where to go on.
 */
export function scan(from: u32, capacity: u32, signs: usize, rows: usize, next: usize): i32 {
  let size: u32 = 1 << atomic.load<u32>(DEPTH);
  let written: u32 = 0;
  let entry = from;
  for (; entry < size; entry++) {
    let page = <usize>load<u32>(DIRECTORY + (<usize>entry << 2));
    if (entry >> load<u32>(page + PAGE_DEPTH)) continue; // seen under a smaller entry
    if (written + load<u32>(page + PAGE_COUNT) > capacity) break;
    for (let slot = page; slot < page + PAGE_COUNT; slot += SLOT_BYTES) {
      let row = <usize>load<u32>(slot + 8);
      if (!row) continue;
      store<u64>(signs + (<usize>written << 3), load<u64>(slot));
      memory.copy(rows + <usize>written * rowBytes, row, rowBytes);
      written++;
    }
  }
  store<u32>(next, entry >= size ? 0xffffffff : entry);
  return written;
}

// ---- index ----

@inline function pageOf(hash: u64): usize {
  let bits: u64 = (<u64>1 << atomic.load<u32>(DEPTH)) - 1;
  return load<u32>(DIRECTORY + (<usize>((hash >> 8) & bits) << 2));
}

@inline function find(page: usize, hash: u64, sign: u64): usize {
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
  let page = pageOf(hash);
  let row = find(page, hash, sign);
  if (row) return row;
  while (load<u32>(page + PAGE_COUNT) >= PAGE_LIMIT) {
    if (!split(page, hash)) return 0;
    page = pageOf(hash);
  }
  row = allocateRow();
  if (!row) return 0;
  initRow(row, sign);
  place(page, hash, sign, <u32>row);
  atomic.store<u32>(ROWS, load<u32>(ROWS) + 1);
  return row;
}

// The address is stored last and atomically: a reader that sees it sees the sign and the filled row.
function place(page: usize, hash: u64, sign: u64, row: u32): void {
  let i: usize = <usize>(hash & (PAGE_SLOTS - 1));
  while (load<u32>(page + i * SLOT_BYTES + 8)) i = (i + 1) & (PAGE_SLOTS - 1);
  let slot = page + i * SLOT_BYTES;
  store<u64>(slot, sign);
  atomic.store<u32>(slot + 8, row);
  store<u32>(page + PAGE_COUNT, load<u32>(page + PAGE_COUNT) + 1);
}

function split(page: usize, hash: u64): bool {
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
    place((h >> (8 + depth)) & 1 ? high : low, h, sign, row);
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

// ---- pages that other threads may still be reading ----

function enter(): void { atomic.store<u32>(SLOTS + (thread << 2), atomic.load<u32>(EPOCH)); }
function leave(): void { atomic.store<u32>(SLOTS + (thread << 2), 0); }

function retire(page: usize): void {
  let epoch = atomic.add<u32>(EPOCH, 1);
  store<u32>(page + PAGE_EPOCH, epoch);
  store<u32>(page + PAGE_NEXT, 0);
  let tail = <usize>load<u32>(RETIRED_TAIL);
  if (tail) store<u32>(tail + PAGE_NEXT, <u32>page); else store<u32>(RETIRED_HEAD, <u32>page);
  store<u32>(RETIRED_TAIL, <u32>page);
}

function allocatePage(depth: u32): usize {
  let page = <usize>load<u32>(RETIRED_HEAD);
  if (page && unread(load<u32>(page + PAGE_EPOCH))) {
    let next = load<u32>(page + PAGE_NEXT);
    store<u32>(RETIRED_HEAD, next);
    if (!next) store<u32>(RETIRED_TAIL, 0);
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

// ---- rows ----

function allocateRow(): usize {
  let at = load<u64>(SLAB);
  if (at + rowBytes > load<u64>(SLAB_END)) {
    let size = max<u64>(SLAB_BYTES / rowBytes, 1) * rowBytes;
    at = allocate(<u32>size);
    if (!at) return 0;
    store<u64>(SLAB_END, at + size);
  }
  store<u64>(SLAB, at + rowBytes);
  return <usize>at;
}

@inline function copyRow(to: usize, from: usize): void {
  let end = from + (dim << 2);
  for (; from + 16 <= end; from += 16, to += 16) v128.store(to, v128.load(from));
  for (; from < end; from += 4, to += 4) store<u32>(to, load<u32>(from));
}

// Adam that is not lazy moves every row at every step. A row is brought up to date when it is next read: its moments
// decay and go on moving it through the steps it missed, at most CATCH_UP of them (by then 0.9^100 of the moment is left).
const CATCH_UP: u32 = 100;

function catchUp(row: usize, step: u32): void {
  let last = load<u32>(row + rowBytes - 4);
  if (last + 1 >= step) return;
  let missed = min(step - 1 - last, CATCH_UP);
  let bytes = dim << 2;
  let p1 = NativeMath.pow(beta1, <f64>last), p2 = NativeMath.pow(beta2, <f64>last);
  for (let k: u32 = 0; k < missed; k++) {
    p1 *= beta1; p2 *= beta2;
    let root = NativeMath.sqrt(1 - p2);
    let rate = <f32>(baseRate * root / (1 - p1)), eps = <f32>(epsilon * root);
    for (let w = row; w < row + bytes; w += 4) {
      let m = beta1 * load<f32>(w + bytes), v = beta2 * load<f32>(w + bytes * 2);
      store<f32>(w + bytes, m);
      store<f32>(w + bytes * 2, v);
      store<f32>(w, load<f32>(w) - rate * m / (sqrt<f32>(v) + eps));
    }
  }
  store<u32>(row + rowBytes - 4, step - 1);
}

// The row as it would be, for evaluation, which changes nothing.
function caughtUp(row: usize): usize {
  if (load<u32>(row + rowBytes - 4) + 1 >= now) return row;
  if (!spare) spare = reserve(<u32>rowBytes);
  if (!spare) return row; // the segment is full to the last byte
  memory.copy(spare, row, rowBytes);
  catchUp(spare, now);
  return spare;
}

function initRow(row: usize, sign: u64): void {
  initWeights(row, sign);
  let end = row + ((dim * (1 + states)) << 2);
  if (clocked) store<u32>(end, now ? now - 1 : 0);
  for (let p = row + (dim << 2), first = p + (dim << 2); p < end; p += 4) store<f32>(p, p < first ? stateInit : 0);
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

// ---- memory and lock ----

// Only under the lock. Fresh memory is zero.
function allocate(bytes: u32): usize {
  let at = (load<u64>(BUMP) + 63) & ~63;
  let end = at + bytes;
  if (end > MEMORY_LIMIT) return 0;
  let pages = <i32>((end + 0xffff) >> 16) - memory.size();
  if (pages > 0 && memory.grow(max(pages, GROW_PAGES)) < 0 && memory.grow(pages) < 0) return 0;
  store<u64>(BUMP, end);
  return <usize>at;
}

// 0 free, 1 held, 2 held and waited for: waking costs a call out of the kernel, so only a lock that is waited for does it.
function acquire(): void {
  for (let spins = 0; spins < 64; spins++) if (atomic.cmpxchg<u32>(LOCK, 0, 1) == 0) return;
  // The holder may be off its core: give it up instead of burning it.
  while (atomic.xchg<u32>(LOCK, 2) != 0) atomic.wait<i32>(LOCK, 2, -1);
}

function release(): void {
  if (atomic.xchg<u32>(LOCK, 0) == 2) atomic.notify(LOCK, 1);
}
