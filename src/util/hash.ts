/** @file 64-bit mixing on bigints: the plain counterpart of what the kernels do, and seeds derived by name. */

const MASK = (1n << 64n) - 1n
export const GOLDEN = 0x9e3779b97f4a7c15n

/** splitmix64's finalizer: a bijection of 64-bit words, unsigned. */
export function mix64(value: bigint): bigint {
  let x = value & MASK
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK
  return x ^ (x >> 31n)
}

/** A 64-bit hash of text (FNV-1a, then mixed), for seeds that depend on a name and not on order of creation. */
export function hashText(text: string): bigint {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK
  return mix64(hash)
}

/** The seed of one named thing (a table, a parameter, a dropout) under a job's seed. */
export function deriveSeed(seed: number | bigint, name: string): bigint {
  return mix64((BigInt(seed) * GOLDEN) ^ hashText(name))
}
