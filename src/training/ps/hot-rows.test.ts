/** @file The sample of what is pulled against the exact counts, on ids with a heavy head. */
import { expect, test } from 'vitest'
import { createRng } from '../../base/util/index.ts'
import { HotRows, joinHot, SAMPLED } from './hot-rows.ts'

const BATCH = 4000
const IDS = 400_000
const HEAD = 50

/** A pull of distinct signs: of the first HEAD id k is in it with the chance 1 / (1 + k / 10), each of the others with a hundredth. */
function pull(random: ReturnType<typeof createRng>, exact: Uint32Array): BigUint64Array {
  const signs = new BigUint64Array(BATCH)
  const halves = new Uint32Array(signs.buffer)
  let n = 0
  for (let k = 0; k < HEAD; k++) {
    if (random.uniform() >= 1 / (1 + k / 10)) continue
    exact[k]!++
    halves[2 * n++] = k
  }
  const start = random.below(IDS)
  for (let i = 0; n < BATCH; i++) halves[2 * n++] = HEAD + ((start + 97 * i) % IDS)
  return signs
}

const groupsOf = (signs: BigUint64Array) => ({ signs, lengths: Uint32Array.of(signs.length) })

test('rows with a four-thousandth of all pulls are found among 400,000 others, and their pulls are near what they were', () => {
  const [hot, random, exact] = [new HotRows(), createRng(1n), new Uint32Array(HEAD)]
  const pulls = 8000
  for (let i = 0; i < pulls; i++) hot.note({ groups: [groupsOf(pull(random, exact))], tableGroups: [0] })
  const { pulled, rows } = hot.of(0, 20)
  expect(pulled).toBe(pulls * BATCH)
  // Of the ten hottest rows each is in half of all batches.
  const found = new Set(rows.map(({ key }) => BigInt(key)))
  for (let k = 0n; k < 10n; k++) expect(found.has(k), `row ${k}`).toBe(true)
  for (const { key, pulls: own } of rows) {
    const pulledOf = exact[Number(key)] ?? 0
    const [chance, others] = [4 * Math.sqrt(SAMPLED * pulledOf), pulled / 100_000]
    expect(own, key).toBeGreaterThan(pulledOf - chance)
    expect(own, key).toBeLessThan(pulledOf + chance + others)
  }
})

test('tables of the same signs are counted once and both shown; what nobody pulled has no rows', () => {
  const hot = new HotRows()
  const [first, second] = [groupsOf(BigUint64Array.of(1n, 2n)), groupsOf(BigUint64Array.of(7n))]
  for (let i = 0; i < 2000; i++) hot.note({ groups: [first, second], tableGroups: [0, 1, 0] })
  expect([0, 1, 2].map((table) => hot.of(table, 5).pulled)).toEqual([4000, 2000, 4000])
  expect(hot.of(2, 5)).toEqual(hot.of(0, 5))
  expect(hot.of(1, 5).rows.map(({ key }) => key)).toEqual(['7'])
  expect(hot.of(0, 1).rows).toHaveLength(1)
  expect(new HotRows().of(0, 5)).toEqual({ pulled: 0, rows: [] })
})

test('rows that stand in the same places of every batch are counted as others are', () => {
  const hot = new HotRows()
  const count = 64
  const signs = BigUint64Array.from({ length: count }, (_, i) => BigInt(i))
  for (let i = 0; i < 40_000; i++) hot.note({ groups: [groupsOf(signs)], tableGroups: [0] })
  const { rows } = hot.of(0, count)
  expect(rows).toHaveLength(count)
  for (const { key, pulls } of rows) expect(Math.abs(pulls / 40_000 - 1), key).toBeLessThan(0.4)
})

test('what threads of a server have seen is put together by row', () => {
  const row = (key: string, pulls: number) => ({ key, pulls })
  const parts = [
    { pulled: 100, rows: [row('1', 50), row('2', 30)] },
    { pulled: 50, rows: [row('3', 45), row('2', 25)] },
  ]
  expect(joinHot(parts, 2)).toEqual({ pulled: 150, rows: [row('2', 55), row('1', 50)] })
})
