import { expect, test } from 'vitest'
import { blockOf } from '../plan.ts'
import { type ChunkRun, spreadOrder } from './shuffles.ts'

const chunks = (sizes: readonly number[]) => sizes.map((samples, place): ChunkRun => ({ place, samples }))
/** Which sample of which chunk, in order. */
const named = (runs: readonly ChunkRun[], round: number) => {
  const names = runs.flatMap(({ place, samples }) => Array.from({ length: samples }, (_, i) => `${place}/${i}`))
  return Array.from(spreadOrder(runs, 7, round), (sample) => names[sample]!)
}
const cut = (names: readonly string[], size: number) =>
  Array.from({ length: Math.ceil(names.length / size) }, (_, i) => names.slice(i * size, (i + 1) * size))

test('every sample comes once, in another order in every round', () => {
  const runs = chunks([50, 3, 0, 117])
  expect(named(runs, 0).toSorted()).toEqual(named(runs, 1).toSorted())
  expect(new Set(named(runs, 0)).size).toBe(170)
  expect(named(runs, 0)).not.toEqual(named(runs, 1))
  expect(named(runs, 1)).toEqual(named(runs, 1))
})

test('every stretch has samples of all chunks, as many as their sizes say', () => {
  for (const stretch of cut(named(chunks([1000, 3000]), 0), 400)) {
    const ofFirst = stretch.filter((name) => name.startsWith('0/')).length
    expect(Math.abs(ofFirst - 100)).toBeLessThanOrEqual(1)
  }
})

test('a single chunk is shuffled as a whole', () => {
  const names = named(chunks([1000]), 0)
  const moved = names.filter((name, i) => Math.abs(Number(name.slice(2)) - i) > 100).length
  expect(moved).toBeGreaterThan(700)
})

test('four workers with a quarter of the chunks and of the batch make the steps of one', () => {
  const all = chunks(new Array(16).fill(565))
  const alone = cut(named(all, 3), 160)
  const parts = Array.from({ length: 4 }, (_, index) => cut(named(blockOf(all, { index, count: 4 }), 3), 40))
  for (const [step, batch] of alone.entries())
    expect(parts.flatMap((batches) => batches[step]!).toSorted()).toEqual(batch.toSorted())
  expect(parts.every((batches) => batches.length === alone.length)).toBe(true)
})
