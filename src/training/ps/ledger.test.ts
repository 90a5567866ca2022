import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ChunkLedger } from './ledger.ts'

const claimer = (ledger: ChunkLedger, chunks: number) => {
  const sequences: number[] = []
  return (rank: number, idle = false) => {
    sequences[rank] = (sequences[rank] ?? 0) + 1
    return ledger.claim(rank, { pass: 'epoch 0', chunks, sequence: sequences[rank], idle })
  }
}

test('each worker has its block, in order; the first have one more', () => {
  const claim = claimer(new ChunkLedger(2), 5)
  expect([claim(1), claim(0), claim(0), claim(1), claim(0)]).toEqual([3, 0, 1, 4, 2])
  expect([claim(0), claim(1)]).toEqual([null, null])
})

test('a worker that has read all of its own takes the last of the longest block', () => {
  const claim = claimer(new ChunkLedger(3), 9)
  for (const expected of [0, 1, 2]) expect(claim(0)).toBe(expected)
  expect(claim(1)).toBe(3)
  expect(claim(0)).toBe(null)
  expect([claim(0, true), claim(0, true), claim(0, true)]).toEqual([8, 5, 7])
  expect([claim(1), claim(2), claim(0, true)]).toEqual([4, 6, null])
})

test('more workers than chunks leaves some without', () => {
  const claim = claimer(new ChunkLedger(3), 2)
  expect([claim(2), claim(0), claim(1), claim(2, true)]).toEqual([null, 0, 1, null])
})

test('a claim that arrives twice is answered alike, and the next pass begins anew', () => {
  const ledger = new ChunkLedger(1)
  const claim = { pass: 'epoch 0', chunks: 2, sequence: 1, idle: false }
  expect([ledger.claim(0, claim), ledger.claim(0, claim), ledger.claim(0, { ...claim, sequence: 2 })]).toEqual([
    0, 0, 1,
  ])
  expect(ledger.claim(0, { ...claim, pass: 'epoch 1' })).toBe(0)
})

test('a worker that sees other data is told so', () => {
  const ledger = new ChunkLedger(2)
  ledger.claim(0, { pass: 'epoch 0', chunks: 5, sequence: 1, idle: false })
  expect(() => ledger.claim(1, { pass: 'epoch 0', chunks: 6, sequence: 1, idle: false })).toThrow(
    'epoch 0: worker[1] cuts the data into 6 chunks, another one into 5',
  )
})

test('whoever comes when, every chunk is claimed once', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 0, max: 40 }),
      fc.array(fc.nat(99)),
      (workers, chunks, turns) => {
        const claim = claimer(new ChunkLedger(workers), chunks)
        const claimed = turns.map((turn) => claim(turn % workers, turn > 50))
        for (let rank = 0; rank < workers; rank++) {
          for (let chunk = claim(rank, true); chunk !== null; chunk = claim(rank, true)) claimed.push(chunk)
        }
        const all = claimed.filter((chunk) => chunk !== null)
        expect(all.sort((a, b) => a - b)).toEqual(Array.from({ length: chunks }, (_, i) => i))
      },
    ),
  )
})
