import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLogColumn, createTextParser, type TextFormat } from '../../base/kernel/index.ts'
import type { Columns, Slot } from '../batch.ts'
import { sliceColumns } from '../columns.ts'
import { createTextBlockParser } from '../text/text-block.ts'
import { fromText, textSlots, withCrosses } from './columns.ts'
import { signedLog } from './log.ts'

const WORDS = ['10', '007', '4294967296', '18446744073709551615', '18446744073709551616', 'Lima', '0', '10', '']

/** Every kind of feature, of fields of its own and of fields that several share; crosses before and behind what they cross. */
const SLOTS: readonly Slot[] = [
  { kind: 'sparse', name: 'first', feature: { kind: 'cross', of: ['list', 'age', 'hashed'], buckets: 2 ** 53 - 1 } },
  { kind: 'dense', name: 'label', width: 1, dtype: 'int64' },
  { kind: 'sparse', name: 'plain' },
  { kind: 'sparse', name: 'list', feature: { kind: 'ids', from: 'list', split: '|' } },
  { kind: 'sparse', name: 'hashed', feature: { kind: 'hash', from: 'plain', buckets: 1_000_003 } },
  { kind: 'sparse', name: 'wide', feature: { kind: 'hash', from: 'list', buckets: 1 } },
  { kind: 'sparse', name: 'word', feature: { kind: 'vocabulary', from: 'word', words: WORDS } },
  { kind: 'sparse', name: 'age', feature: { kind: 'bucketise', from: 'age', boundaries: [-3.5, 0.1, 18, 1e6, 3e38] } },
  { kind: 'dense', name: 'age_log', width: 1, dtype: 'float32', feature: { kind: 'log', from: 'age' } },
  { kind: 'dense', name: 'three', width: 3, dtype: 'float32', feature: { kind: 'log', from: 'three' } },
  { kind: 'dense', name: 'two', width: 2, dtype: 'float32', feature: { kind: 'log', from: 'three' } },
  { kind: 'sparse', name: 'other' },
  { kind: 'sparse', name: 'of_label', feature: { kind: 'bucketise', from: 'label', boundaries: [0, 1] } },
  { kind: 'dense', name: 'log_label', width: 1, dtype: 'float32', feature: { kind: 'log', from: 'label' } },
  { kind: 'sparse', name: 'of_id', feature: { kind: 'bucketise', from: 'other', boundaries: [5, 1e9, 2e19] } },
  { kind: 'dense', name: 'list_log', width: 2, dtype: 'float32', feature: { kind: 'log', from: 'list' } },
  { kind: 'sparse', name: 'none', feature: { kind: 'bucketise', from: 'other', boundaries: [] } },
  { kind: 'dense', name: 'own', width: 1, dtype: 'float32' },
  { kind: 'sparse', name: 'last', feature: { kind: 'cross', of: ['plain', 'word'], buckets: 7 } },
]
const RAW = textSlots(SLOTS)

const id = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.nat(200).map(BigInt),
  fc.constantFrom(0n, 9n, 10n, 99_999_999n, 10n ** 8n, 10n ** 16n - 1n, 10n ** 16n, 2n ** 32n, 2n ** 53n + 1n),
)
const measured = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 18, 0.1, -3.5, 0.41421354, 0.41421357, 1e-40, 3e38),
)
const ids = (most: number) => fc.array(id, { minLength: 1, maxLength: most })
const record = (most: number) =>
  fc.tuple(
    ...RAW.map((slot): fc.Arbitrary<readonly (number | bigint)[]> => {
      if (slot.kind === 'sparse') return ids(most)
      const value: fc.Arbitrary<number | bigint> =
        slot.dtype === 'int64' ? fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) : measured
      return fc.array(value, { minLength: slot.width, maxLength: slot.width })
    }),
  )
type Record = readonly (readonly (number | bigint)[])[]

const textOf = (value: number | bigint) => (Object.is(value, -0) ? '-0' : String(value))
const LINE: Readonly<{ [K in TextFormat]: (values: Record, absent: number) => string }> = {
  multislot: (values) => values.map((list) => [list.length, ...list.map(textOf)].join(' ')).join(' '),
  // A slot that is not there at all, in each line another one.
  slot: (values, absent) =>
    values
      .flatMap((list, s) => (s === absent ? [] : list.map((value) => `${RAW[s]!.name}:${textOf(value)}`)))
      .join(' '),
}

/** By the kernel that knows nothing of features, and the plain definition behind it. */
function plainly(slots: readonly Slot[], text: string, format: TextFormat): Columns {
  const raw = textSlots(slots)
  const parser = createTextParser(raw, 64 * 1024)
  const { written } = new TextEncoder().encodeInto(text, parser.text)
  const { samples } = parser.parse(format, 0, written)
  return withCrosses(slots)(fromText(slots)(sliceColumns(raw, { ...parser, samples }, 0, samples)))
}

const bits = ({ samples, counts, starts, signs, dense }: Columns) => ({
  samples,
  counts: [...counts],
  starts: [...starts],
  signs: [...signs],
  // As bits: -0 is not 0.
  dense: dense.map((values) => [...new Uint32Array(values.slice().buffer)]),
})

for (const format of ['slot', 'multislot'] as const)
  for (const most of [1, 4])
    test(`the kernel of ${format} text makes features as defined, with up to ${most} ids a slot`, () => {
      const parse = createTextBlockParser(SLOTS)
      fc.assert(
        fc.property(fc.array(record(most), { minLength: 1, maxLength: 20 }), (records) => {
          const text = records.map((values, i) => `${LINE[format](values, i % (RAW.length + 2))}\n`).join('')
          const made = parse({ text: new TextEncoder().encode(text), format, file: 'x' })
          expect(bits(made)).toEqual(bits(plainly(SLOTS, text, format)))
        }),
        { numRuns: 300 },
      )
    })

const CROSSED: readonly Slot[] = [
  { kind: 'sparse', name: 'a' },
  { kind: 'sparse', name: 'b' },
  { kind: 'sparse', name: 'both', feature: { kind: 'cross', of: ['a', 'b'], buckets: 1e6 } },
]

test('a line whose cross has more signs than its text could hold is read whole', () => {
  const list = Array.from({ length: 700 }, (_, i) => i)
  const lines = [`1 5 1 6`, `700 ${list.join(' ')} 700 ${list.join(' ')}`, `1 5 2 6 7`]
  const text = `${lines.join('\n')}\n`
  const made = createTextBlockParser(CROSSED)({ text: new TextEncoder().encode(text), format: 'multislot', file: 'x' })
  expect([...made.counts]).toEqual([1, 1, 1, 700, 700, 490_000, 1, 2, 2])
  expect(bits(made)).toEqual(bits(plainly(CROSSED, text, 'multislot')))
})

test('a line whose cross has more signs than a memory holds is refused', () => {
  const list = `9000 ${Array.from({ length: 9000 }, (_, i) => i).join(' ')}`
  const text = new TextEncoder().encode(`${list} ${list}\n`)
  expect(() => createTextBlockParser(CROSSED)({ text, format: 'multislot', file: 'x' })).toThrow(
    'The crosses of the model make more than 16777216 signs of this line.',
  )
})

test('the logarithm is within 3 ulp of the true one for any float32', () => {
  const ulp = (value: number) => 2 ** (Math.max(-126, Math.floor(Math.log2(value))) - 23)
  fc.assert(
    fc.property(
      fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.float({ min: -1, max: 1, noNaN: true })),
      (x) => {
        const [found, expected] = [signedLog(x), Math.sign(x) * Math.log1p(Math.abs(x))]
        expect(Math.fround(found)).toBe(found)
        expect(Math.abs(found - expected)).toBeLessThanOrEqual(x === 0 ? 0 : 3 * ulp(Math.abs(expected)))
      },
    ),
    { numRuns: 20_000 },
  )
})

test('the logarithm of a column has the same bits as that of each value', () => {
  const drawn = fc.sample(measured, 70_001).map(Math.fround)
  const values = Float32Array.from(drawn)
  createLogColumn()(values, values.length - 1)
  const expected = [...drawn.slice(0, -1).map(signedLog), drawn.at(-1)!]
  expect(new Uint32Array(values.buffer)).toEqual(new Uint32Array(Float32Array.from(expected).buffer))
})

test('the logarithm has the same bits in Python', () => {
  const drawn = fc.sample(fc.float({ noNaN: true, noDefaultInfinity: true }), 2000)
  const values = [0, 1, -3, 1000, 0.41421354, 0.41421357, 1e-45, 3.4028234663852886e38, ...drawn].map(Math.fround)
  const folder = fileURLToPath(new URL('../../../python', import.meta.url))
  const program =
    'import json, sys, oarfish_features as f; print(json.dumps([f._signed_log(x) for x in json.load(sys.stdin)]))'
  const found = execFileSync('python3', ['-c', program], {
    input: JSON.stringify(values),
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: folder },
  })
  expect(JSON.parse(found).map((x: number) => x || 0)).toEqual(values.map((x) => signedLog(x) || 0))
})
