/** @file What a provider may yield for each type, and what it may not. */
import { expect, test } from 'vitest'
import type { DataLayer } from './config-scope.ts'
import { denseVector, integerValue, integerValueSequence, sparseBinaryVector, sparseFloatVector } from './provider.ts'
import { sampleReader, typedInputs } from './samples.ts'

const LAYERS: readonly DataLayer[] = [
  { name: 'id', size: 4, use: 'ids' },
  { name: 'words', size: 9, use: 'sequence' },
  { name: 'unused', size: 1 },
  { name: 'x', size: 2, use: 'dense' },
  { name: 'ones', size: 3, use: 'dense' },
  { name: 'weights', size: 3, use: 'dense' },
]
const TYPES = {
  id: integerValue(4),
  words: integerValueSequence(9),
  x: denseVector(2),
  ones: sparseBinaryVector(3),
  weights: sparseFloatVector(3),
}
const GOOD = { id: 3, words: [1, 8], x: [0.5, 2], ones: [0, 2], weights: [[1, 0.25]] }
const read = sampleReader(typedInputs(LAYERS, TYPES))

test('samples by name: sparse vectors are written out', () => {
  expect(read(GOOD)).toEqual({ id: 3, words: [1, 8], x: [0.5, 2], ones: [1, 0, 1], weights: [0, 0.25, 0] })
})

test('types and samples in the order of the data layers', () => {
  const list = [TYPES.id, TYPES.words, denseVector(1), TYPES.x, TYPES.ones, TYPES.weights]
  const inOrder = sampleReader(typedInputs(LAYERS, list))
  expect(inOrder([3, [1], 0, [1, 2], [], []])).toEqual({
    id: 3,
    words: [1],
    x: [1, 2],
    ones: [0, 0, 0],
    weights: [0, 0, 0],
  })
  expect(() => typedInputs(LAYERS, [TYPES.id])).toThrow(
    'settings.inputTypes has 1 types, and the configuration 6 data layers',
  )
})

test.each([
  [{ id: 4 }, '"id" is integerValue(4), and the provider yielded 4.'],
  [{ id: '3' }, '"id" is integerValue(4), and the provider yielded "3".'],
  [{ id: undefined }, '"id" is integerValue(4), and the provider yielded "nothing".'],
  [{ words: [] }, '"words" is integerValueSequence(9), and the provider yielded [].'],
  [{ words: [9] }, '"words" is integerValueSequence(9), and the provider yielded 9.'],
  [{ x: [1] }, '"x" is denseVector(2), and the provider yielded [1].'],
  [{ x: [1, Number.NaN] }, '"x" is denseVector(2), and the provider yielded [1,null].'],
  [{ ones: [3] }, '"ones" is sparseBinaryVector(3), and the provider yielded 3.'],
  [{ ones: 1 }, '"ones" is sparseBinaryVector(3), and the provider yielded 1.'],
  [{ weights: [1] }, '"weights" is sparseFloatVector(3), and the provider yielded [1].'],
])('%j', (changed, message) => {
  expect(() => read({ ...GOOD, ...changed })).toThrow(message)
})
