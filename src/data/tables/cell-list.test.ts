import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CellKind, createCellList } from './cell-list.ts'

/** The bits of the only value of a list; undefined where there is none. */
function bitsOf(kind: CellKind, add: (list: ReturnType<typeof createCellList>) => boolean): string | undefined {
  const list = createCellList(kind)
  const isThere = add(list)
  expect(list.length).toBe(isThere ? 1 : 0)
  return isThere ? Buffer.from(list.values.buffer, 0, list.values.BYTES_PER_ELEMENT).toString('hex') : undefined
}

const digits = (most: number) => fc.stringMatching(new RegExp(`^\\d{1,${most}}$`))
const texts = fc.oneof(
  digits(21),
  fc.bigInt(0n, 2n ** 64n - 1n).map(String),
  fc.bigInt(2n ** 64n, 2n ** 67n).map(String),
  fc.tuple(digits(9), digits(9)).map(([whole, part]) => `${whole}.${part}`),
  fc.tuple(digits(3), digits(17)).map(([whole, part]) => `-${whole}.${part}`),
  fc.float({ noNaN: true }).map(String),
  fc.double().map(String),
  fc.stringMatching(/^[-+. 0-9eE]{1,6}$/),
)

test.each(['sign', 'int64', 'float32'] as const)('a %s read from bytes has the bits of one read from text', (kind) => {
  let plain = 0
  fc.assert(
    fc.property(texts, fc.nat(3), (text, before) => {
      const bytes = Buffer.from(`${'7'.repeat(before)}${text}7`)
      const found = bitsOf(kind, (list) => list.addBytes(bytes, before, bytes.length - 1))
      if (found === undefined) return // left to addText
      plain++
      expect([text, found]).toEqual([text, bitsOf(kind, (list) => list.addText(text))])
    }),
    { numRuns: 2000, seed: 1 },
  )
  expect(plain).toBeGreaterThan(200)
})

test.each([
  ['sign', '18446744073709551615'],
  ['sign', '10000000000000000000'],
  ['sign', '4294967296'],
  ['int64', '999999999999999999'],
  ['float32', '-0.5'],
  ['float32', '.25'],
  ['float32', '123456789.123456'],
] as const)('a %s such as %s needs no text', (kind, text) => {
  const bytes = Buffer.from(text)
  const found = bitsOf(kind, (list) => list.addBytes(bytes, 0, bytes.length))
  expect(found).toBe(bitsOf(kind, (list) => list.addText(text)))
  expect(found).toBeDefined()
})

test.each(['18446744073709551616', '99999999999999999999', '', ' 1', '1 ', '+1', '-1'])(
  'the sign %j is left to those who read text',
  (text) => {
    const bytes = Buffer.from(text)
    expect(bitsOf('sign', (list) => list.addBytes(bytes, 0, bytes.length))).toBeUndefined()
  },
)
