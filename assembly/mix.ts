// splitmix64's finalizer, unsigned. The plain counterpart is src/base/util/hash.ts.
@inline export function mix64(value: u64): u64 {
  let x = value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

export const GOLDEN: u64 = 0x9e3779b97f4a7c15;
