// Sorted runs of rows on a disk: packing rows into pages, finding the page of a sign, merging runs. The memory is one thread's own.
//
// A run is pages of rows in order of mix64(sign), which spreads evenly whatever the signs are: the fence of a page (the upper half of
// its first hash) finds the page of a sign without a read, a filter of some bits a row says which signs a run surely does not have.
//
//   page: checksum u64 of all that follows | number u32 | rows u32 | signs u64[perPage] | rows [perPage][rowBytes]
import { copyBytes } from "./copy";
import { GOLDEN, mix64 } from "./mix";

const NUMBER: usize = 8;
const COUNT: usize = 12;
const SIGNS: usize = 16;
const CHUNK_BLOCKS: u32 = 10;  // a chunk of 64 KiB has 2^10 blocks of a filter, or 2^14 fences
const CHUNK_FENCES: u32 = 14;
const NOWHERE: u32 = 0xffffffff;

let rowBytes: usize = 0;
let pageBytes: usize = 0;
let perPage: u32 = 0;

export function setPages(rowBytes_: u32, pageBytes_: u32): u32 {
  rowBytes = rowBytes_; pageBytes = pageBytes_;
  perPage = (pageBytes_ - <u32>SIGNS) / (rowBytes_ + 8);
  return perPage;
}

@inline function rowsAt(page: usize): usize { return page + SIGNS + (<usize>perPage << 3); }

// Four lanes, so that the multiplications overlap. It finds torn and misplaced pages, not forgers.
function checksum(page: usize): u64 {
  let a: u64 = GOLDEN, b: u64 = 0xbf58476d1ce4e5b9, c: u64 = 0x94d049bb133111eb, d: u64 = 0x2545f4914f6cdd1d;
  let end = page + pageBytes;
  let at = page + 8;
  for (; at + 32 <= end; at += 32) {
    a = rotl<u64>(a ^ load<u64>(at), 29) * GOLDEN;
    b = rotl<u64>(b ^ load<u64>(at + 8), 31) * 0xbf58476d1ce4e5b9;
    c = rotl<u64>(c ^ load<u64>(at + 16), 33) * 0x94d049bb133111eb;
    d = rotl<u64>(d ^ load<u64>(at + 24), 37) * 0x2545f4914f6cdd1d;
  }
  for (; at + 8 <= end; at += 8) a = rotl<u64>(a ^ load<u64>(at), 29) * GOLDEN;
  return mix64(a ^ rotl<u64>(b, 17) ^ rotl<u64>(c, 41) ^ rotl<u64>(d, 53));
}

/** The first of `n` pages from number `first` on that is not what was written; `n` when all are. */
export function verify(pages: usize, n: u32, first: u32): u32 {
  for (let i: u32 = 0; i < n; i++, pages += pageBytes) {
    if (!sound(pages, first + i)) return i;
  }
  return n;
}

function sound(page: usize, number: u32): bool {
  return load<u32>(page + NUMBER) == number && load<u32>(page + COUNT) <= perPage && load<u64>(page) == checksum(page);
}

// ---- writing ----

/** Writes to `order` the places of `n` signs in order of their hashes. `keys` and `other` have room for n of 16 bytes, `counts` for 2^16 u32. */
export function sortByHash(signs: usize, n: u32, order: usize, keys: usize, other: usize, counts: usize): void {
  for (let i: usize = 0; i < n; i++) {
    store<u64>(keys + (i << 4), mix64(load<u64>(signs + (i << 3))));
    store<u32>(keys + (i << 4) + 8, <u32>i);
  }
  for (let shift: u64 = 0; shift < 64; shift += 16) {
    memory.fill(counts, 0, 4 << 16);
    for (let at = keys, end = keys + (<usize>n << 4); at < end; at += 16) {
      let count = counts + (<usize>((load<u64>(at) >> shift) & 0xffff) << 2);
      store<u32>(count, load<u32>(count) + 1);
    }
    let before: u32 = 0;
    for (let at = counts, end = counts + (4 << 16); at < end; at += 4) {
      let count = load<u32>(at);
      store<u32>(at, before);
      before += count;
    }
    for (let at = keys, end = keys + (<usize>n << 4); at < end; at += 16) {
      let count = counts + (<usize>((load<u64>(at) >> shift) & 0xffff) << 2);
      let to = load<u32>(count);
      store<u32>(count, to + 1);
      v128.store(other + (<usize>to << 4), v128.load(at));
    }
    let swap = keys; keys = other; other = swap;
  }
  for (let i: usize = 0; i < n; i++) store<u32>(order + (i << 2), load<u32>(keys + (i << 4) + 8));
}

/** Of places whose signs are the same, which `order` has side by side, only the last stays; returns how many are left. */
export function lastOfEach(signs: usize, n: u32, order: usize): u32 {
  let left: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let place = load<u32>(order + (i << 2));
    if (i + 1 < n && load<u64>(signs + (<usize>place << 3)) == load<u64>(signs + (<usize>load<u32>(order + (i << 2) + 4) << 3))) continue;
    store<u32>(order + (<usize>left << 2), place);
    left++;
  }
  return left;
}

/**
 * Rows [from, from + n) of `signs` and `rows`, taken by `order` (0: as they lie), into pages that begin with number `first`; only the last
 * may be partly filled. Also fences[page], and the filter's bits. Returns how many pages.
 */
export function pack(signs: usize, rows: usize, order: usize, from: u32, n: u32, pages: usize, first: u32, fences: usize, filter: usize, blocks: u32): u32 {
  let number = first;
  for (let done: u32 = 0; done < n; number++, pages += pageBytes) {
    let count = min(perPage, n - done);
    memory.fill(pages, 0, pageBytes);
    store<u32>(pages + NUMBER, number);
    store<u32>(pages + COUNT, count);
    for (let i: u32 = 0; i < count; i++, done++) {
      let place: usize = order ? load<u32>(order + (<usize>(from + done) << 2)) : from + done;
      let sign = load<u64>(signs + (place << 3));
      let hash = mix64(sign);
      if (i == 0) store<u32>(fences + (<usize>number << 2), number ? <u32>(hash >> 32) : 0);
      store<u64>(pages + SIGNS + (<usize>i << 3), sign);
      copyBytes(rowsAt(pages) + <usize>i * rowBytes, rows + place * rowBytes, rowBytes);
      setBits(filter + (<usize>blockOf(hash, blocks) << 6), hash);
    }
    store<u64>(pages, checksum(pages));
  }
  return number - first;
}

@inline function blockOf(hash: u64, blocks: u32): u32 { return <u32>(((hash & 0xffffffff) * <u64>blocks) >> 32); }

// Seven bits in one block of 512: one cache miss a question.
function setBits(block: usize, hash: u64): void {
  let bits = mix64(hash + GOLDEN);
  for (let k = 0; k < 7; k++, bits >>= 9) {
    let at = block + (<usize>((bits >> 5) & 15) << 2);
    store<u32>(at, load<u32>(at) | (<u32>1 << (<u32>bits & 31)));
  }
}

function hasBits(block: usize, hash: u64): bool {
  let bits = mix64(hash + GOLDEN);
  for (let k = 0; k < 7; k++, bits >>= 9) {
    if (!(load<u32>(block + (<usize>((bits >> 5) & 15) << 2)) & (<u32>1 << (<u32>bits & 31)))) return false;
  }
  return true;
}

// ---- finding ----

// A run in memory: blocks of its filter, chunks of them, pages, chunks of their fences. Runs stand newest first.
const RUN_BYTES: usize = 16;
const TOUCHED: u32 = 256;

@inline function fence(chunks: usize, page: u32): u32 {
  return load<u32>(<usize>load<u32>(chunks + (<usize>(page >> CHUNK_FENCES) << 2)) + (<usize>(page & ((1 << CHUNK_FENCES) - 1)) << 2));
}

@inline function filterOf(run: usize, hash: u64): usize {
  let block = blockOf(hash, load<u32>(run));
  let chunk = <usize>load<u32>(<usize>load<u32>(run + 4) + (<usize>(block >> CHUNK_BLOCKS) << 2));
  return chunk + (<usize>(block & ((1 << CHUNK_BLOCKS) - 1)) << 6);
}

let touched: u32 = 0; // keeps the compiler from dropping reads made for the cache's sake

// A first read of what filters will be asked, so that the misses of many signs overlap.
function touchFilters(signs: usize, n: u32, runs: usize, count: u32): void {
  let sum: u32 = 0;
  for (let i: usize = 0; i < n; i++) {
    let hash = mix64(load<u64>(signs + (i << 3)));
    for (let run = runs, end = runs + <usize>count * RUN_BYTES; run < end; run += RUN_BYTES) sum += load<u32>(filterOf(run, hash));
  }
  touched = sum;
}

/** The last page whose fence is at most `key`: hashes are even, so it lies near its share of the pages. */
function lastPage(run: usize, key: u32): u32 {
  let pages = load<u32>(run + 8), chunks = <usize>load<u32>(run + 12);
  let low = <u32>((<u64>key * <u64>pages) >> 32), step: u32 = 4;
  while (low > 0 && fence(chunks, low) > key) { low -= min(step, low); step <<= 1; }
  let high = low + 1;
  step = 4;
  while (high < pages && fence(chunks, high) <= key) { low = high; high = min(high + step, pages); step <<= 1; }
  while (low + 1 < high) {
    let middle = (low + high) >> 1;
    if (fence(chunks, middle) <= key) low = middle; else high = middle;
  }
  return low;
}

/**
 * Where each of `n` signs may be next. A place is run u32, page u32, pages before it that have its fence u32; runs begin at 0, and a sign
 * that no run may have is at run NOWHERE, as is one that was found. Returns how many are somewhere; writes which to `places`.
 */
export function plan(signs: usize, n: u32, runs: usize, count: u32, at: usize, places: usize, isFirst: bool): u32 {
  let somewhere: u32 = 0;
  for (let i: u32 = 0; i < n; i++, at += 12) {
    // Some at a time: what was touched is still near when it is asked.
    if (isFirst && i % TOUCHED == 0) touchFilters(signs + (<usize>i << 3), min(TOUCHED, n - i), runs, count);
    let run: u32 = 0;
    if (!isFirst) {
      run = load<u32>(at);
      if (run == NOWHERE) continue;
      let left = load<u32>(at + 8);
      if (left) {
        store<u32>(at + 4, load<u32>(at + 4) - 1);
        store<u32>(at + 8, left - 1);
        store<u32>(places + (<usize>somewhere << 2), i);
        somewhere++;
        continue;
      }
      run++;
    }
    let hash = mix64(load<u64>(signs + (<usize>i << 3)));
    while (run < count && !hasBits(filterOf(runs + <usize>run * RUN_BYTES, hash), hash)) run++;
    if (run == count) { store<u32>(at, NOWHERE); continue; }
    let key = <u32>(hash >> 32), own = runs + <usize>run * RUN_BYTES;
    let page = lastPage(own, key), left: u32 = 0;
    while (left < page && fence(<usize>load<u32>(own + 12), page - left) == key) left++;
    store<u32>(at, run);
    store<u32>(at + 4, page);
    store<u32>(at + 8, left);
    store<u32>(places + (<usize>somewhere << 2), i);
    somewhere++;
  }
  return somewhere;
}

/**
 * Of the `n` signs whose places begin at `places`, each with its page at its turn in `pages`: copies sign and row of those that are there
 * to foundSigns and foundRows, from `found` on, and notes that they are found. Returns how many are found by then, or -1 - i for the
 * page that is not what was written.
 */
export function take(signs: usize, at: usize, places: usize, n: u32, pages: usize, foundSigns: usize, foundRows: usize, found: u32): i32 {
  for (let j: u32 = 0; j < n; j++, pages += pageBytes) {
    let i = <usize>load<u32>(places + (<usize>j << 2));
    let place = at + i * 12;
    if (!sound(pages, load<u32>(place + 4))) return -1 - <i32>j;
    let sign = load<u64>(signs + (i << 3));
    let count = load<u32>(pages + COUNT);
    for (let k: usize = 0; k < count; k++) {
      if (load<u64>(pages + SIGNS + (k << 3)) != sign) continue;
      store<u64>(foundSigns + (<usize>found << 3), sign);
      copyBytes(foundRows + <usize>found * rowBytes, rowsAt(pages) + k * rowBytes, rowBytes);
      found++;
      store<u32>(place, NOWHERE);
      break;
    }
  }
  return found;
}

// ---- merging ----

// An input: where its page is, the end of its pages in memory, the next row's number in the page, 0 or 1 when it has ended, and that row's hash.
const INPUT_BYTES: usize = 24;

/** Input `i` has `n` further pages at `pages`; none: it has ended. */
export function feed(inputs: usize, i: u32, pages: usize, n: u32): void {
  let input = inputs + <usize>i * INPUT_BYTES;
  store<u32>(input, <u32>pages);
  store<u32>(input + 4, <u32>(pages + <usize>n * pageBytes));
  store<u32>(input + 8, 0);
  store<u32>(input + 12, n == 0 ? 1 : 0);
  if (n) store<u64>(input + 16, mix64(load<u64>(pages + SIGNS)));
}

/** Moves an input on; false when its pages are used up. */
function next(input: usize): bool {
  let page = <usize>load<u32>(input), row = load<u32>(input + 8) + 1;
  if (row == load<u32>(page + COUNT)) {
    page += pageBytes;
    row = 0;
    store<u32>(input, <u32>page);
  }
  store<u32>(input + 8, row);
  if (page == load<u32>(input + 4)) return false;
  store<u64>(input + 16, mix64(load<u64>(page + SIGNS + (<usize>row << 3))));
  return true;
}

/**
 * Rows of `count` inputs in order of hash, of rows with the same sign that of the first input, to signs and rows from `done` on. Stops when
 * `capacity` are written or an input needs more pages. `result` receives how many are written and which inputs need more, as bits.
 */
export function merge(inputs: usize, count: u32, signs: usize, rows: usize, done: u32, capacity: u32, result: usize): void {
  let empty: u32 = 0;
  while (done < capacity && !empty) {
    let best: usize = 0, least: u64 = 0;
    for (let i: u32 = 0; i < count; i++) {
      let input = inputs + <usize>i * INPUT_BYTES;
      if (load<u32>(input + 12)) continue;
      let hash = load<u64>(input + 16);
      if (!best || hash < least) { best = input; least = hash; }
    }
    if (!best) break;
    let page = <usize>load<u32>(best), row = <usize>load<u32>(best + 8);
    store<u64>(signs + (<usize>done << 3), load<u64>(page + SIGNS + (row << 3)));
    copyBytes(rows + <usize>done * rowBytes, rowsAt(page) + row * rowBytes, rowBytes);
    done++;
    for (let i: u32 = 0; i < count; i++) {
      let input = inputs + <usize>i * INPUT_BYTES;
      if (!load<u32>(input + 12) && load<u64>(input + 16) == least && !next(input)) empty |= 1 << i;
    }
  }
  store<u32>(result, done);
  store<u32>(result + 4, empty);
}
