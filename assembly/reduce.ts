// Two blocks of numbers into one: into[i] = into[i] + from[i], or the larger of both. Blocks are whole vectors of 16 bytes;
// what lies behind the last number of a block is computed too and never looked at.

export function sumFloat32(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, f32x4.add(v128.load(into + at), v128.load(from + at)));
}

export function sumFloat64(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, f64x2.add(v128.load(into + at), v128.load(from + at)));
}

export function sumInt32(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, i32x4.add(v128.load(into + at), v128.load(from + at)));
}

export function sumInt64(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, i64x2.add(v128.load(into + at), v128.load(from + at)));
}

export function sumUint8(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, i8x16.add(v128.load(into + at), v128.load(from + at)));
}

// pmax is `into < from ? from : into`, what a plain loop does: a NaN already there stays, one that comes is passed over.
export function maxFloat32(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, f32x4.pmax(v128.load(into + at), v128.load(from + at)));
}

export function maxFloat64(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, f64x2.pmax(v128.load(into + at), v128.load(from + at)));
}

export function maxInt32(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, i32x4.max_s(v128.load(into + at), v128.load(from + at)));
}

export function maxInt64(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) {
    let a = v128.load(into + at), b = v128.load(from + at);
    v128.store(into + at, v128.bitselect(b, a, i64x2.gt_s(b, a)));
  }
}

export function maxUint8(into: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(into + at, i8x16.max_u(v128.load(into + at), v128.load(from + at)));
}
