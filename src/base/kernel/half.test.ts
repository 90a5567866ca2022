/** @file float16 by the kernel against plain arithmetic. */
import { expect, test } from 'vitest'
import { HalfCoder, halfBytes } from './half.ts'

const coder = new HalfCoder()

/** There and back. */
function travelled(values: Float32Array): Float32Array {
  const back = new Float32Array(values.length)
  coder.decode(coder.encode(values), back)
  return back
}

/** The multiple of a power of two that a float16 of this size can hold, ties to even. */
function plainHalf(value: number): number {
  const exponent = Math.max(-14, Math.floor(Math.log2(Math.abs(value))))
  const step = 2 ** (exponent - 10)
  const steps = value / step
  const near = Math.round(steps)
  const even = Math.abs(steps % 1) === 0.5 ? 2 * Math.round(steps / 2) : near
  return even * step
}

test('values of one block are halves after the largest was brought under 2^15', () => {
  const values = Float32Array.from({ length: 4096 }, (_, i) => Math.sin(i * 1.7) * 2 ** ((i % 50) - 45))
  const largest = Math.max(...values.map(Math.abs))
  const factor = 2 ** (14 - Math.floor(Math.log2(largest)))
  const expected = values.map((value) => plainHalf(value * factor) / factor)
  expect(travelled(values)).toEqual(expected)
})

test('every float16 comes back as it is', () => {
  const values = Float32Array.from({ length: 2 ** 15 - 2 ** 10 }, (_, bits) => {
    const [exponent, fraction] = [bits >> 10, bits & 1023]
    return exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25)
  })
  // Of the largest of each block, under the factor 1.
  for (let block = 0; block < values.length; block += 4095) {
    const own = Float32Array.of(2 ** 14, ...values.subarray(block, block + 4095).filter((value) => value < 2 ** 15))
    expect(travelled(own)).toEqual(own)
    expect(travelled(own.map((value) => -value))).toEqual(own.map((value) => -value))
  }
})

test('ties go to the even neighbour', () => {
  const near = 2 ** 14
  const step = 2 ** 4
  const values = Float32Array.of(near + step / 2, near + (3 * step) / 2, near + step / 2 + 2 ** -9)
  expect([...travelled(values)]).toEqual([near, near + 2 * step, near + step])
})

test.each([0, 1, 7, 8, 9, 4095, 4096, 4097, 20_001])('%i values keep eleven bits, block by block', (length) => {
  const size = (i: number) => 10 ** ((i >> 12) * 7 - 20)
  const values = Float32Array.from({ length }, (_, i) => (1 + Math.sin(i) / 2) * size(i))
  const bytes = coder.encode(values)
  expect(bytes.byteLength).toBe(halfBytes(length))
  const back = travelled(values)
  for (let i = 0; i < length; i++) expect(Math.abs(back[i]! / values[i]! - 1)).toBeLessThanOrEqual(2 ** -11)
})

test('zeros, infinities and what is no number stay', () => {
  const values = Float32Array.of(0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1.5, 1e-40)
  expect([...travelled(values)]).toEqual([
    0,
    -0,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
    1.5,
    0,
  ])
  expect([...travelled(new Float32Array(3))]).toEqual([0, 0, 0])
})
