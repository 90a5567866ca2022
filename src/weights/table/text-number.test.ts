import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineParser, writeFloat, writeSign } from './text-number.ts'

const text = (value: number) => {
  const out = new Uint8Array(64)
  return Buffer.from(out.subarray(0, writeFloat(value, out, 0))).toString()
}
const parsed = (line: string, most = 20) => {
  const parser = new LineParser(most)
  const bytes = Buffer.from(line)
  if (!parser.parse(bytes, 0, bytes.length)) return undefined
  const sign = (BigInt(parser.sign[1]!) << 32n) | BigInt(parser.sign[0]!)
  return { sign, count: parser.count, values: [...parser.values.subarray(0, Math.max(0, parser.count))] }
}

describe('floats as text', () => {
  it.each([
    [0, '0'],
    [1, '1'],
    [-12, '-12'],
    [0.5, '0.5'],
    [Math.fround(0.1), '0.1'],
    [Math.fround(-0.00179438), '-0.00179438'],
    [Math.fround(2.63481e-7), '2.63481e-7'],
    [Math.fround(123456.7), '123456.7'],
    [2 ** 24 + 2, '16777218'],
  ])('%d is %s', (value, expected) => {
    expect(text(value)).toBe(expected)
  })

  it('reads back as the same float32, whatever it is', () => {
    const same = (value: number) => {
      expect(parsed(`1 ${text(value)}`)?.values).toEqual([value === 0 ? 0 : value])
    }
    fc.assert(fc.property(fc.float(), same), { numRuns: 5000 })
    fc.assert(fc.property(fc.float({ min: -1, max: 1, noNaN: true }), same), { numRuns: 5000 })
    fc.assert(fc.property(fc.float({ min: 0, max: Math.fround(1e-9), noNaN: true }), same), { numRuns: 5000 })
    for (const value of [2 ** -149, -(2 ** -126), Math.fround(3.4e38), Number.POSITIVE_INFINITY, Number.NaN])
      same(value)
  })

  it('small numbers are short, too', () => {
    for (const [value, expected] of [
      [1.5e-17, '1.5e-17'],
      [2.25e-30, '2.25e-30'],
      [1e-13, '1e-13'],
    ] as const)
      expect(text(Math.fround(value))).toBe(expected)
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000_000, max: 9_999_999 }),
        fc.integer({ min: -36, max: -19 }),
        (digits, power) => {
          const value = Math.fround(Number(`${digits}e${power}`))
          expect(text(value).replace(/\D/g, '').length).toBeLessThanOrEqual(11)
        },
      ),
    )
  })

  it('takes at most sixteen bytes', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true }), (value) => text(value).length <= 16),
      { numRuns: 5000 },
    )
  })
})

describe('lines', () => {
  it('takes any sign of 64 bits', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), (sign) => {
        const out = new Uint8Array(24)
        const end = writeSign(Number(sign & 0xffffffffn), Number(sign >> 32n), out, 0)
        expect(Buffer.from(out.subarray(0, end)).toString()).toBe(String(sign))
        expect(parsed(`${sign} 1`)?.sign).toBe(sign)
      }),
    )
  })

  it("reads what Paddle's servers write", () => {
    expect(parsed('185389731478652570 0 0 0.6 6 0 0.00355654 -0.00830001 2e-05 \t\r')).toEqual({
      sign: 185389731478652570n,
      count: 8,
      values: [0, 0, 0.6, 6, 0, 0.00355654, -0.00830001, 2e-5].map(Math.fround),
    })
  })

  it.each(['x 1', '1 0.5x', '1 --2', '18446744073709551616 1', '1 1e', '1 .', '1-2 3'])('refuses %j', (line) => {
    expect(parsed(line)?.count).toBe(-1)
  })

  it('says when there are more values than expected, and that a line is empty', () => {
    expect(parsed('1 1 2 3', 2)?.count).toBe(3)
    expect(parsed('  ')).toBeUndefined()
  })
})
