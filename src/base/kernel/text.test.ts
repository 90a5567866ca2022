import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTextParser, type TextFormat, type TextParser, type TextSlot } from './text.ts'
import { checksumReference, parseLineReference, type ReferenceSample } from './text-reference.testing.ts'

const SLOTS: readonly TextSlot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  { kind: 'sparse', name: '1' },
  { kind: 'sparse', name: '12' },
  { kind: 'dense', name: 'dense_feature', width: 3, dtype: 'float32' },
  { kind: 'sparse', name: 'a_very_long_name_of_a_slot' },
]

/** The parser's columns as the reference writes samples. */
function samplesOf(parser: TextParser, slots: readonly TextSlot[], samples: number): ReferenceSample[] {
  const sparseSlots = slots.filter((slot) => slot.kind === 'sparse').length
  return Array.from({ length: samples }, (_, i) => {
    let sign = parser.starts[i]!
    let sparse = 0
    let dense = 0
    const sample = slots.map((slot) => {
      if (slot.kind === 'dense') return [...parser.dense[dense++]!.subarray(i * slot.width, (i + 1) * slot.width)]
      const count = parser.counts[i * sparseSlots + sparse++]!
      sign += count
      return [...parser.signs.subarray(sign - count, sign)]
    })
    expect(sign).toBe(parser.starts[i + 1])
    return sample
  })
}

function parse(parser: TextParser, format: TextFormat, text: string) {
  const { written } = new TextEncoder().encodeInto(text, parser.text)
  return parser.parse(format, 0, written)
}

/** All lines of a text by kernel, call after call, going on after bad lines as a reader that skips them. */
function parseAll(parser: TextParser, format: TextFormat, slots: readonly TextSlot[], text: string) {
  const { written } = new TextEncoder().encodeInto(text, parser.text)
  const found: unknown[] = []
  let lines = 0
  for (let from = 0; from < written; ) {
    const result = parser.parse(format, from, written)
    found.push(...samplesOf(parser, slots, result.samples))
    lines += result.lines
    from = result.position
    if (result.status !== 'bad') continue
    const { position, ...error } = result.error!
    found.push({ ...error, offset: position - from })
    from = parser.text.indexOf(10, from) + 1
    lines++
  }
  return { found, lines, ignored: new Set(parser.takeIgnored()) }
}

function referenceAll(format: TextFormat, slots: readonly TextSlot[], text: string) {
  const found: unknown[] = []
  const ignored = new Set<string>()
  const lines = text.split('\n').slice(0, -1)
  for (const line of lines) {
    const parsed = parseLineReference(format, slots, line)
    if (parsed.kind === 'sample') found.push(parsed.sample)
    if (parsed.kind === 'bad') found.push(parsed.error)
    if (parsed.kind === 'sample') for (const name of parsed.ignored) ignored.add(name)
  }
  return { found, lines: lines.length, ignored }
}

const sign = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  fc.nat(1_000_000).map(String),
  fc.constantFrom('0', '18446744073709551615', '007', '99999999', '100000000', '00000000000000000000000001'),
)
const number = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 }).map(String),
  fc.double({ noNaN: true, min: 0, max: 1 }).map((x) => x.toFixed(6)),
  fc.constantFrom(
    '0',
    '-0.0',
    '1.',
    '.5',
    '+3',
    '1e5',
    '2E-3',
    '1e-45',
    '16777217',
    '0.30000000000000004',
    '1.17549429e-38',
  ),
)
const broken = fc.constantFrom(
  '',
  '-1',
  '18446744073709551616',
  '1.5',
  'x',
  'nan',
  'inf',
  '1e',
  '--1',
  '.',
  '1e39',
  '0x1F',
  '1:2',
)
const space = fc.constantFrom(' ', '  ', '\t', ' \t ')
const ending = fc.constantFrom('\n', '\r\n', ' \n', '\n\n', ' \t\r\n')
/** Mostly right values, sometimes a broken one. */
const mostly = (value: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 40, arbitrary: value }, { weight: 1, arbitrary: broken })

const slotToken = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constantFrom('1', '12', 'a_very_long_name_of_a_slot'), mostly(sign)) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('13', '', 'a_very_long_name_of_a_sloth', 'unknown'), mostly(sign)) },
)
const slotLine = fc
  .tuple(
    fc.option(mostly(fc.constantFrom('0', '1', '-7', '9223372036854775807', '-9223372036854775808'))),
    fc.oneof(
      { weight: 6, arbitrary: fc.array(mostly(number), { minLength: 3, maxLength: 3 }) },
      { weight: 1, arbitrary: fc.array(number, { maxLength: 5 }) },
    ),
    fc.array(slotToken, { maxLength: 8 }),
    fc.nat(),
  )
  .chain(([click, dense, sparse, seed]) => {
    const tokens = [
      ...(click === null ? [] : [`click:${click}`]),
      ...dense.map((value) => `dense_feature:${value}`),
      ...sparse.map(([name, value]) => `${name}:${value}`),
    ]
    // Most lines in declared order, some shuffled.
    const order = seed % 3 === 0 ? fc.shuffledSubarray(tokens, { minLength: tokens.length }) : fc.constant(tokens)
    return fc.tuple(order, space, ending).map(([all, gap, end]) => all.join(gap) + end)
  })
const multiSlotLine = fc
  .tuple(
    mostly(fc.constantFrom('0', '1')),
    fc.array(fc.array(mostly(sign), { minLength: 1, maxLength: 4 }), { minLength: 3, maxLength: 3 }),
    fc.array(mostly(number), { minLength: 3, maxLength: 3 }),
    fc.constantFrom('', '', '', '', ' 1', ' 1 5'),
    fc.nat(30),
    space,
    ending,
  )
  .map(([click, signs, dense, extra, cut, gap, end]) => {
    const [a, b, c] = signs.map((values) => [values.length, ...values])
    const tokens = [1, click, ...a!, ...b!, 3, ...dense, ...c!]
    return (cut < tokens.length && cut < 4 ? tokens.slice(0, cut) : tokens).join(gap) + extra + end
  })

describe('the text kernel equals its reference', () => {
  const lineOf: Record<TextFormat, fc.Arbitrary<string>> = { slot: slotLine, multislot: multiSlotLine }
  for (const [format, line] of Object.entries(lineOf) as [TextFormat, fc.Arbitrary<string>][]) {
    test(`on random ${format} lines, right and broken`, () => {
      const text = fc.array(line, { maxLength: 20 }).map((lines) => lines.join(''))
      fc.assert(
        fc.property(text, (all) => {
          const parser = createTextParser(SLOTS, 64 * 1024)
          const kernel = parseAll(parser, format, SLOTS, all)
          const reference = referenceAll(format, SLOTS, all)
          expect(kernel.found).toEqual(reference.found)
          expect(kernel.lines).toBe(reference.lines)
          // A bad line may have shown a name before it was found bad.
          for (const name of reference.ignored) expect(kernel.ignored).toContain(name)
        }),
        { numRuns: 300 },
      )
    })
  }

  test('on floats of any length, to the last bit', () => {
    const slots: TextSlot[] = [{ kind: 'dense', name: 'x', width: 1, dtype: 'float32' }]
    const parser = createTextParser(slots, 4096)
    const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`))
    const decimal = fc.oneof(
      fc.tuple(digits(21), digits(24), fc.integer({ min: -60, max: 40 })).map(([a, b, e]) => `${a}.${b}e${e}`),
      fc.tuple(digits(9), digits(12)).map(([a, b]) => `${a}.${b}`),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      // Halfway between two float32 values, and one digit off it.
      fc
        .tuple(fc.nat(2 ** 23), fc.constantFrom('', '1', '0000000001'))
        .map(([m, tail]) => `${1 + (m + 0.5) / 2 ** 23}${tail}`),
    )
    fc.assert(
      fc.property(decimal, (value) => {
        const kernel = parseAll(parser, 'multislot', slots, `1 ${value}\n`)
        expect(kernel.found).toEqual(referenceAll('multislot', slots, `1 ${value}\n`).found)
      }),
      { numRuns: 3000 },
    )
  })
})

test('a call stops when the columns are full and the next goes on from there', () => {
  const slots: TextSlot[] = [{ kind: 'sparse', name: 's' }]
  const parser = createTextParser(slots, 200_000)
  const result = parse(parser, 'slot', 's:1\n'.repeat(10_000))
  expect(result).toMatchObject({ status: 'full', samples: 8192, lines: 8192, position: 8192 * 4 })
  expect(parser.parse('slot', result.position, 40_000)).toMatchObject({ status: 'done', samples: 10_000 - 8192 })
})

test('one line may fill the whole text area with signs', () => {
  const slots: TextSlot[] = [...Array(40).keys()].map((i) => ({ kind: 'sparse', name: `${i}` }))
  const parser = createTextParser(slots, 4096)
  const result = parse(parser, 'slot', `${'7:1 '.repeat(1023)}\n`)
  expect(result).toMatchObject({ status: 'done', samples: 1, signs: 1023 + 39 })
})

test('undeclared slots are named once', () => {
  const parser = createTextParser([{ kind: 'sparse', name: 's' }], 4096)
  parse(parser, 'slot', 's:1 färbung:3 b:x\nb:2 färbung:1 s:4\n')
  expect(parser.takeIgnored()).toEqual(['färbung', 'b'])
  parse(parser, 'slot', 'c:1 b:1 s:2\n')
  expect(parser.takeIgnored()).toEqual(['c'])
})

test('any number of undeclared slots, with names of any length, is skipped; the first thousand are named', () => {
  const parser = createTextParser([{ kind: 'sparse', name: 's' }], 256 * 1024)
  const names = Array.from({ length: 1500 }, (_, i) => `${'n'.repeat(i % 300)}${i}`)
  for (let round = 0; round < 2; round++) {
    const result = parse(
      parser,
      'slot',
      `${names.map((name) => `${name}:1 s:7`).join(' ')}\n`.slice(0, 250_000).replace(/\S*$/, '\n'),
    )
    expect(result).toMatchObject({ status: 'done', samples: 1 })
    expect(new Set(parser.signs.subarray(0, result.signs))).toEqual(new Set([7n]))
    expect(parser.takeIgnored()).toHaveLength(round === 0 ? 1000 : 0)
  }
})

test('the checksum of a text is that of the plain version, wherever it lies, and changes with every byte', () => {
  const parser = createTextParser(SLOTS, 4096)
  const bytes = fc.uint8Array({ minLength: 0, maxLength: 400 })
  fc.assert(
    fc.property(bytes, fc.nat({ max: 40 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }), (text, at, seed) => {
      parser.text.set(text, at)
      const sum = parser.checksum(at, at + text.length, seed)
      expect(sum).toBe(checksumReference(text, seed))
      for (let i = 0; i < text.length; i += 37) {
        parser.text[at + i]! ^= 16
        expect(parser.checksum(at, at + text.length, seed)).not.toBe(sum)
        parser.text[at + i]! ^= 16
      }
    }),
  )
})
