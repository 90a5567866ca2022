import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SignList } from './sign-list.ts'

test('digits are the number that BigInt makes of them, and what is no whole number of 64 bits is not taken', () => {
  const digits = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
    fc.bigInt({ min: 2n ** 64n - 5n, max: 2n ** 64n + 5n }).map(String),
    fc.bigInt({ min: 0n, max: 10n ** 22n }).map(String),
    fc.string({ maxLength: 6 }),
    fc.nat().map((value) => `000${value}`),
  )
  fc.assert(
    fc.property(fc.array(digits), (texts) => {
      const list = new SignList(0)
      const isSign = (text: string) => /^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n
      expect(texts.map((text) => list.addDigits(text))).toEqual(texts.map(isSign))
      expect([...list.values()]).toEqual(texts.filter(isSign).map(BigInt))
    }),
    { numRuns: 500 },
  )
})

test('numbers, bigints and copies follow each other, and are cut off behind a place', () => {
  const list = new SignList(0)
  list.addNumber(Number.MAX_SAFE_INTEGER)
  list.addBigint(2n ** 64n - 1n)
  for (let i = 0; i < 40; i++) list.addNumber(i)
  list.cut(3)
  list.copy(new Uint32Array([9, 9, 5, 1, 7, 0]), 1, 3)
  expect([...list.values()]).toEqual([BigInt(Number.MAX_SAFE_INTEGER), 2n ** 64n - 1n, 0n, 2n ** 32n + 5n, 7n])
})
