/** @file Rows found by a pull are known to the push that follows, and to no other. */
import { expect, test } from 'vitest'
import { PulledRows } from './pulled-rows.ts'

const groups = (...signs: bigint[]) => [{ signs: BigUint64Array.from(signs), lengths: Uint32Array.of(signs.length) }]

test('the last two pulls of a contributor are known by their signs', () => {
  const pulled = new PulledRows()
  const [first, second] = [pulled.note(7, groups(1n, 2n)), pulled.note(7, groups(3n))]
  expect(first).not.toBe(second)
  expect(pulled.find(7, groups(1n, 2n))).toBe(first)
  expect(pulled.find(7, groups(3n))).toBe(second)
  expect(pulled.find(7, groups(2n, 1n))).toBeUndefined()
  expect(pulled.find(8, groups(3n))).toBeUndefined()
  expect(pulled.note(7, groups(4n))).toBe(first)
  expect(pulled.find(7, groups(1n, 2n))).toBeUndefined()
})

test('signs are copied, since their memory is used again', () => {
  const pulled = new PulledRows()
  const [one] = groups(5n)
  const hand = pulled.note(0, [one!])
  one!.signs[0] = 6n
  expect(pulled.find(0, groups(5n))).toBe(hand)
  pulled.forget()
  expect(pulled.find(0, groups(5n))).toBeUndefined()
})

test('contributors have lists of their own, and those beyond the limit none', () => {
  const pulled = new PulledRows()
  const hands = Array.from({ length: 40 }, (_, contributor) => pulled.note(contributor, groups(1n)))
  expect(new Set(hands.slice(0, 32)).size).toBe(32)
  expect(hands.slice(32).every((hand) => hand === 0)).toBe(true)
  expect(pulled.find(39, groups(1n))).toBeUndefined()
})
