/** @file Ranks that say how much they bring: what no rank can bring is refused before room is made for it, and whoever said it is named. */
import { expect, test } from 'vitest'
import type { CallHead } from '../../src/training/collective/backend.ts'
import type { Numbers } from '../../src/training/collective/group.ts'
import type { TypeName } from '../../src/training/collective/numbers.ts'
import { blockingOperations, type Caller } from '../../src/training/collective/operations.ts'
import type { Ranks } from '../../src/training/step/parallel/ranks.ts'
import { gatherRound } from '../../src/training/step/parallel/round.ts'

const ROOMS = { uint8: Uint8Array, float64: Float64Array } as Readonly<
  Partial<Record<TypeName, new (n: number) => Numbers>>
>

/** Rank 0 of two, whose other brings `said` wherever it is asked for one number; `rooms` are the lengths that room was made for. */
function besideOneWho(said: number) {
  const rooms: number[] = []
  const caller: Caller = {
    rank: 0,
    size: 2,
    room: <T extends Numbers>(_slot: 0 | 1, type: TypeName, length: number) => {
      rooms.push(length)
      return new ROOMS[type]!(length) as T
    },
    shared: (values) => values,
    start: (_call: CallHead, _values: Numbers, target: Numbers) => {
      if (target.length === 2) target[1] = said
    },
    wait: () => undefined,
  }
  return { group: blockingOperations(caller), rooms }
}

const WRONG = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 2 ** 31 + 1]

test.each(WRONG)('a rank that says it gathers %d numbers is named', (said) => {
  const { group, rooms } = besideOneWho(said)
  expect(() => group.allGather(new Uint8Array(3))).toThrow(
    /^rank 1 is gone: it brought what it may not bring \(how much/,
  )
  expect(rooms).toEqual([2])
})

test.each(WRONG)('a rank that says it sends %d numbers is named', (said) => {
  const { group, rooms } = besideOneWho(said)
  expect(() => group.allToAll(new Uint8Array(3), [1, 2])).toThrow(/^rank 1 is gone: .*\(how much it sends: expected/)
  expect(rooms).toEqual([2, 2])
})

test('what a rank can bring is taken', () => {
  const { group } = besideOneWho(4)
  expect(group.allGather(new Uint8Array(3)).counts).toEqual([3, 4])
  expect(group.allToAll(new Uint8Array(3), [1, 2]).counts).toEqual([0, 4])
})

test.each([
  ['samples', 0],
  ['signs', 2],
])('a rank whose %s in a round are no count is named', async (_what, place) => {
  for (const said of WRONG) {
    const allGather = (own: Float64Array) => async () => {
      const values = Float64Array.of(...own, ...own)
      values[own.length + place] = said
      return { values, counts: [own.length, own.length] }
    }
    const ranks = { rank: 0, size: 2, begin: { allGather } } as unknown as Ranks
    const round = gatherRound(ranks, { samples: 4, stopping: false, counts: [5] }, 1)
    await expect(round).rejects.toThrow('rank 1 is gone: it brought what it may not bring (samples or signs that')
  }
})
