/** @file Sums and maxima by the kernel against plain loops. */
import { expect, test } from 'vitest'
import { Reducer } from './reduce.ts'

const TYPES = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
} as const
const LENGTHS = [0, 1, 3, 17, 4095, 4097, 20_000]

test.each(Object.keys(TYPES) as (keyof typeof TYPES)[])('%s is reduced as a plain loop does it', (type) => {
  const reducer = new Reducer()
  for (const reduction of ['sum', 'max'] as const) {
    for (const length of LENGTHS) {
      const sources = [1, 2, 3].map((seed) => given(type, length, seed))
      const expected = plain(sources, reduction)
      const into = new TYPES[type](length)
      reducer.reduce([bytes(into)], sources.map(bytes), type, reduction)
      expect(into).toEqual(expected)
      reducer.reduce([bytes(sources[0]!)], sources.map(bytes), type, reduction)
      expect(sources[0]).toEqual(expected)
    }
  }
})

type Numbers = InstanceType<(typeof TYPES)[keyof typeof TYPES]>

function given(type: keyof typeof TYPES, length: number, seed: number): Numbers {
  const value = (i: number) => Math.sin(i * 1.7 + seed) * 1e3
  if (type === 'int64') return BigInt64Array.from({ length }, (_, i) => BigInt(Math.trunc(value(i))) * 10_000_000_019n)
  const values = new TYPES[type](length)
  for (let i = 0; i < length; i++) values[i] = i % 97 === 13 && seed === 2 ? Number.NaN : value(i)
  return values
}

function plain(sources: readonly Numbers[], reduction: 'sum' | 'max'): Numbers {
  const [first, ...others] = sources as readonly Float32Array[]
  const out = first!.slice()
  for (const source of others) {
    for (let i = 0; i < out.length; i++) {
      if (reduction === 'sum') out[i]! += source[i]!
      else if (source[i]! > out[i]!) out[i] = source[i]!
    }
  }
  return out
}

function bytes({ buffer, byteOffset, byteLength }: Numbers): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
