/** @file Places inside an epoch at another number of processes: read off against a plain count of samples. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { WorkerPlace } from '../../weights/snapshot/index.ts'
import { placesOfRuns, runsOfPlaces } from '../ps/index.ts'
import { resize } from './places.ts'

const INPUT = { files: 1, bytes: 1, crc32: '0' }
const SAMPLES = 4 // of each chunk

/** Reads up to `batches` single samples of what a place has left, taking chunks by `claim` where it has none; notes each in `counts`. */
function readOn(place: WorkerPlace, batches: number, counts: number[], claim?: () => number | undefined): WorkerPlace {
  const claimed = placesOfRuns(place.claimed ?? [])
  const skips = new Map((place.begun ?? []).map(({ place: chunk, sample }) => [chunk, sample]))
  let { chunk, sample, batch } = place.position
  let at = { chunk, sample }
  for (let i = 0; i < batches; ) {
    if (chunk >= claimed.length) {
      const next = claim?.()
      if (next === undefined) break
      claimed.push(next)
    }
    if (sample >= SAMPLES) {
      chunk++
      sample = skips.get(claimed[chunk]!) ?? 0
      continue
    }
    counts[claimed[chunk]! * SAMPLES + sample]!++
    sample++
    batch++
    i++
    at = { chunk, sample }
  }
  return { ...place, position: { ...place.position, batch, ...at }, claimed: runsOfPlaces(claimed) }
}

const beginning = (): WorkerPlace => ({ position: { epoch: 0, batch: 0, chunk: 0, sample: 0 }, input: INPUT })

test('every sample is read once, however often a job changes its size', () => {
  const parts = fc.record({
    count: fc.integer({ min: 1, max: 5 }),
    batches: fc.array(fc.nat(12), { minLength: 5, maxLength: 5 }),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      fc.array(parts, { minLength: 1, maxLength: 5 }),
      (chunks, claims, sizes) => {
        const counts = new Array<number>(chunks * SAMPLES).fill(0)
        const all = (places: readonly WorkerPlace[]) =>
          new Set(places.flatMap(({ claimed = [] }) => placesOfRuns(claimed)))
        const claimer = (places: readonly WorkerPlace[]) => {
          const taken = all(places)
          const free = Array.from({ length: chunks }, (_, place) => place).filter((place) => !taken.has(place))
          return () => free.shift()
        }
        let places: WorkerPlace[] = [claims ? { ...beginning(), claimed: [] } : beginning()]
        for (const { count, batches } of [...sizes, { count: 2, batches: [] }]) {
          places = resize(places, { count, chunks, claims })
          expect(all(places).size).toBe(places.flatMap(({ claimed = [] }) => placesOfRuns(claimed)).length)
          const claim = claims ? claimer(places) : undefined
          const isLast = batches.length === 0
          places = places.map((place, i) => readOn(place, isLast ? chunks * SAMPLES : batches[i]!, counts, claim))
        }
        expect(counts).toEqual(counts.map(() => 1))
      },
    ),
    { numRuns: 300, seed: 1 },
  )
})

test('one leaves of three that take chunks: what it had taken and not read is free again', () => {
  const at = (claimed: number[], chunk: number, sample: number): WorkerPlace => ({
    ...beginning(),
    position: { epoch: 1, batch: 7, chunk, sample },
    claimed: runsOfPlaces(claimed),
  })
  const places = [at([0, 1, 2], 1, 3), at([4, 5], 0, 0), at([8, 9, 10], 1, 2)]
  const next = resize(places, { count: 2, chunks: 12, claims: true })
  expect(
    next.map(({ claimed, position, begun }) => [placesOfRuns(claimed!), position.chunk, position.sample, begun]),
  ).toEqual([
    [[0, 1], 1, 3, undefined],
    [[8, 9], 1, 2, undefined],
  ])
})
