import { expect, test } from 'vitest'
import { createRng } from '../../base/util/index.ts'
import { encoderOf, idEncoderOf } from './encode.ts'
import { bucketOf, lanesOf } from './feature.ts'

test('ids of text are encoded as their digits are', () => {
  const rng = createRng(5n)
  const edges = [0n, 9n, 10n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]
  const drawn = Array.from({ length: 500 }, (_, i) => BigInt(rng.below(2 ** 31)) ** BigInt((i % 2) + 1))
  const words = ['10', '007', '4294967296', '18446744073709551615', 'Lima']
  const slots = [
    { name: 'a', feature: { kind: 'hash', from: 'a', buckets: 1_000_003 } },
    { name: 'b', feature: { kind: 'vocabulary', from: 'b', words } },
    { name: 'c', feature: { kind: 'bucketise', from: 'c', boundaries: [1, 10, 1e6, 1e18] } },
  ] as const
  for (const slot of slots) {
    const [encode, encodeId] = [encoderOf(slot)!, idEncoderOf(slot)!]
    for (const id of [...edges, ...drawn])
      expect([slot.name, id, encodeId(Number(id & 0xffffffffn), Number(id >> 32n))]).toEqual([
        slot.name,
        id,
        encode(String(id)),
      ])
    // As cells of Parquet and values of requests have them.
    for (const id of [...edges, ...drawn, -7n]) {
      expect([slot.name, id, encode(id)]).toEqual([slot.name, id, encode(String(id))])
      if (Number.isSafeInteger(Number(id))) expect([id, encode(Number(id))]).toEqual([id, encode(String(id))])
    }
  }
})

test('the bucket is the rest of a division, for any number of buckets', () => {
  const rng = createRng(6n)
  for (let i = 0; i < 5000; i++) {
    const lanes = lanesOf(String(i))
    const buckets = i % 2 === 0 ? 1 + rng.below(2 ** 31) : 2 ** 53 - 1 - rng.below(2 ** 31)
    const whole = bucketOf(lanes, 2 ** 53)
    expect(bucketOf(lanes, buckets)).toBe(whole % buckets)
  }
  expect(bucketOf(lanesOf('a'), 1)).toBe(0)
})
