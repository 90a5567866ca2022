// Inner products of queries with the rows of a matrix in shared memory: the best of each query, and how many rows are above a score. Rows and
// queries are whole vectors of 16 bytes. The product of a query and a row is added up in the same order in every loop here, so that the same
// two give the same bits whoever computes them.

// @ts-ignore: decorator
@inline
function total(sums: v128): f32 {
  return (f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1)) + (f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3));
}

// The totals of four products at once, each as total() has it.
// @ts-ignore: decorator
@inline
function totals(a: v128, b: v128, c: v128, d: v128): v128 {
  let ab = f32x4.add(f32x4.shuffle(a, b, 0, 2, 4, 6), f32x4.shuffle(a, b, 1, 3, 5, 7)); // a01 a23 b01 b23
  let cd = f32x4.add(f32x4.shuffle(c, d, 0, 2, 4, 6), f32x4.shuffle(c, d, 1, 3, 5, 7));
  return f32x4.add(f32x4.shuffle(ab, cd, 0, 2, 4, 6), f32x4.shuffle(ab, cd, 1, 3, 5, 7));
}

export function dot(query: usize, row: usize, bytes: usize): f32 {
  let sums = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16) sums = f32x4.add(sums, f32x4.mul(v128.load(query + at), v128.load(row + at)));
  return total(sums);
}

// Scores of one query and rows [from, to), one after the other at `out`.
export function score(query: usize, rows: usize, bytes: usize, from: u32, to: u32, out: usize): void {
  let row = rows + <usize>from * bytes, i = from;
  for (; i + 4 <= to; i += 4) {
    let a = f32x4.splat(0), b = a, c = a, d = a;
    for (let at: usize = 0; at < bytes; at += 16) {
      let q = v128.load(query + at), place = row + at;
      a = f32x4.add(a, f32x4.mul(q, v128.load(place)));
      b = f32x4.add(b, f32x4.mul(q, v128.load(place + bytes)));
      c = f32x4.add(c, f32x4.mul(q, v128.load(place + 2 * bytes)));
      d = f32x4.add(d, f32x4.mul(q, v128.load(place + 3 * bytes)));
    }
    v128.store(out, totals(a, b, c, d));
    out += 16;
    row += 4 * bytes;
  }
  for (; i < to; i++, row += bytes, out += 4) f32.store(out, dot(query, row, bytes));
}

// A heap of at most k pairs of a score and a row, the worst first: f32 score, u32 row. Of equal scores the higher row is the worse one.
// @ts-ignore: decorator
@inline
function worse(scoreA: f32, rowA: u32, scoreB: f32, rowB: u32): bool {
  return scoreA < scoreB || (scoreA == scoreB && rowA > rowB);
}

function sink(heap: usize, size: u32, at: u32, score: f32, row: u32): void {
  while (true) {
    let child: u32 = 2 * at + 1;
    if (child >= size) break;
    let place = heap + 8 * <usize>child;
    if (child + 1 < size && worse(f32.load(place + 8), load<u32>(place + 12), f32.load(place), load<u32>(place + 4))) {
      child++;
      place += 8;
    }
    if (!worse(f32.load(place), load<u32>(place + 4), score, row)) break;
    let own = heap + 8 * <usize>at;
    f32.store(own, f32.load(place));
    store<u32>(own + 4, load<u32>(place + 4));
    at = child;
  }
  let own = heap + 8 * <usize>at;
  f32.store(own, score);
  store<u32>(own + 4, row);
}

function rise(heap: usize, at: u32, score: f32, row: u32): void {
  while (at > 0) {
    let parent = (at - 1) >> 1, place = heap + 8 * <usize>parent;
    if (!worse(score, row, f32.load(place), load<u32>(place + 4))) break;
    let own = heap + 8 * <usize>at;
    f32.store(own, f32.load(place));
    store<u32>(own + 4, load<u32>(place + 4));
    at = parent;
  }
  let own = heap + 8 * <usize>at;
  f32.store(own, score);
  store<u32>(own + 4, row);
}

// Scores at `scores` of rows [from, to) offered to a heap of `size` pairs; returns its size. What is no number is never among the best.
export function offer(scores: usize, from: u32, to: u32, heap: usize, size: u32, k: u32): u32 {
  let i = from;
  for (; i < to && size < k; i++, scores += 4) {
    let own = f32.load(scores);
    if (own == own) rise(heap, size++, own, i);
  }
  for (; i < to; i++, scores += 4) {
    let own = f32.load(scores);
    if (own >= f32.load(heap) && worse(f32.load(heap), load<u32>(heap + 4), own, i)) sink(heap, size, 0, own, i);
  }
  return size;
}

// The heap as a list, the best first.
export function order(heap: usize, size: u32): void {
  for (let last = size; last > 1;) {
    last--;
    let place = heap + 8 * <usize>last, score = f32.load(place), row = load<u32>(place + 4);
    f32.store(place, f32.load(heap));
    store<u32>(place + 4, load<u32>(heap + 4));
    sink(heap, last, 0, score, row);
  }
}

// How many of rows [0, count) have a score of at least limits[q], for four queries one after the other: u32 at `out`. A row is loaded once for
// all four.
export function atLeast(queries: usize, rows: usize, bytes: usize, count: u32, limits: usize, out: usize): void {
  let limit = v128.load(limits), found = i32x4.splat(0), row = rows;
  for (let i: u32 = 0; i < count; i++, row += bytes) {
    let a = f32x4.splat(0), b = a, c = a, d = a;
    for (let at: usize = 0; at < bytes; at += 16) {
      let own = v128.load(row + at), query = queries + at;
      a = f32x4.add(a, f32x4.mul(v128.load(query), own));
      b = f32x4.add(b, f32x4.mul(v128.load(query + bytes), own));
      c = f32x4.add(c, f32x4.mul(v128.load(query + 2 * bytes), own));
      d = f32x4.add(d, f32x4.mul(v128.load(query + 3 * bytes), own));
    }
    // A lane that holds is -1.
    found = i32x4.sub(found, f32x4.ge(totals(a, b, c, d), limit));
  }
  v128.store(out, found);
}

// into[i] = the larger of both; n floats.
export function larger(into: usize, from: usize, n: u32): void {
  for (let end = into + 4 * <usize>n; into < end; into += 16, from += 16) v128.store(into, f32x4.pmax(v128.load(into), v128.load(from)));
}

// How many of n scores are at least `limit`.
export function countAtLeast(scores: usize, n: u32, limit: f32): u32 {
  let found: u32 = 0;
  for (let end = scores + 4 * <usize>n; scores < end; scores += 4) found += <u32>(f32.load(scores) >= limit);
  return found;
}
