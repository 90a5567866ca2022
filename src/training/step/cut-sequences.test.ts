import { expect, test } from 'vitest'
import type { Batch } from '../../data/index.ts'
import { sequenceEmbedding } from '../../graph/nn/index.ts'
import { Builder, mean } from '../../graph/program/index.ts'
import { CutSequences } from './cut-sequences.ts'

const slots = [
  { kind: 'sparse', name: 'user' },
  { kind: 'sparse', name: 'history' },
] as const

function program(length?: number) {
  const builder = new Builder()
  const slot = { kind: 'sparse', name: 'history', builder } as const
  return builder.build({ loss: mean(sequenceEmbedding(slot, { name: 'history', dim: 2, length }).x) })
}

/** Samples with one user and so many signs of a history. */
function batch(counts: readonly number[]): Batch {
  const chunk = { counts: Uint32Array.from(counts.flatMap((count) => [1, count])) }
  return { size: counts.length, pieces: [{ chunk, from: 0, to: counts.length }] } as unknown as Batch
}

test('sequences that are too long are counted and said once', () => {
  const cuts = new CutSequences(program(3), slots)
  cuts.look(batch([1, 3, 4]))
  cuts.look(batch([9, 2]))
  expect(cuts.message()).toContain('2 of 5 samples have more than 3 signs in the slot history')
  cuts.look(batch([9]))
  expect(cuts.message()).toBeUndefined()
})

test('nothing is said where all fit, or where the length follows the batch', () => {
  const fits = new CutSequences(program(3), slots)
  const follows = new CutSequences(program(), slots)
  for (const cuts of [fits, follows]) cuts.look(batch([1, 3]))
  follows.look(batch([100]))
  expect([fits.message(), follows.message()]).toEqual([undefined, undefined])
})
