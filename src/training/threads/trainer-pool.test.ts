import { expect, test } from 'vitest'
import type { Batch, ParsedChunk } from '../../data/index.ts'
import { sliceBatch } from './trainer-pool.ts'

const chunk = (samples: number) => ({ samples }) as ParsedChunk
const batch = (...pieces: [number, number][]): Batch => ({
  ...{ epoch: 0, index: 3, cursor: { chunk: 0, sample: 0 }, fraction: 0.5 },
  size: pieces.reduce((sum, [from, to]) => sum + to - from, 0),
  pieces: pieces.map(([from, to]) => ({ chunk: chunk(100), from, to })),
})
const ranges = (slice: Batch) => slice.pieces.map(({ from, to }) => [from, to])

test('slices are nearly equal, in order, and cover the batch across its pieces', () => {
  const slices = sliceBatch(batch([90, 97], [0, 4]), 3)
  expect(slices.map(ranges)).toEqual([[[90, 93]], [[93, 97]], [[0, 4]]])
  expect(slices.map(({ size, slice }) => [size, slice])).toEqual([
    [3, { count: 3, share: 3 / 11 }],
    [4, { count: 3, share: 4 / 11 }],
    [4, { count: 3, share: 4 / 11 }],
  ])
})

test('a batch with fewer samples than threads stays whole', () => {
  expect(sliceBatch(batch([0, 2]), 3).map(ranges)).toEqual([[[0, 2]]])
})
