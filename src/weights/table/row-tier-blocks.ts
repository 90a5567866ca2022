/** @file Blocks of rows on their way between memory and disk. */
import type { MergedRows } from '../tier/index.ts'

/** The lowest grade by which `wanted` rows have gone. */
export function cutoffOf(counts: Uint32Array, wanted: number): number {
  let sum = 0
  return counts.findIndex((count, grade) => {
    sum += count
    return sum >= wanted || grade === counts.length - 1
  })
}

/** What has no flag, moved together where it lies. */
export function without({ signs, rows }: MergedRows, flags: Uint8Array, rowBytes: number): MergedRows {
  let kept = 0
  for (let i = 0; i < signs.length; i++) {
    if (flags[i] !== 0) continue
    if (kept < i) {
      signs[kept] = signs[i]!
      rows.copyWithin(kept * rowBytes, i * rowBytes, (i + 1) * rowBytes)
    }
    kept++
  }
  return { signs: signs.subarray(0, kept), rows: rows.subarray(0, kept * rowBytes) }
}

export function joined(parts: readonly BigUint64Array[], length: number): BigUint64Array {
  const all = new BigUint64Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
