import { describe, expect, test } from 'vitest'
import type { Slot } from '../batch.ts'
import { joinColumns, sliceColumns } from '../columns.ts'
import { createTextBlockParser } from './text-block.ts'

const SLOTS: readonly Slot[] = [
  { kind: 'sparse', name: 'a' },
  { kind: 'dense', name: 'x', width: 2, dtype: 'float32' },
  { kind: 'sparse', name: 'b' },
]
const parse = createTextBlockParser(SLOTS)
const text = (value: string) => new TextEncoder().encode(value)

describe('text in memory', () => {
  test('is parsed as files are, the last line with or without its newline, behind a byte order mark', () => {
    for (const end of ['', '\n']) {
      const columns = parse({ text: text(`\ufeffa:1 a:2 x:0.5 x:1 b:3\n\nb:18446744073709551615${end}`), file: '-' })
      expect(columns.samples).toBe(2)
      expect([...columns.signs]).toEqual([1n, 2n, 3n, 0n, 18446744073709551615n])
      expect([...columns.dense[0]!]).toEqual([0.5, 1, 0, 0])
    }
  })

  test('in MultiSlot form goes by position', () => {
    const columns = parse({ text: text('2 7 8 2 0.5 1 1 9'), file: '-' })
    expect([[...columns.signs], [...columns.counts]]).toEqual([
      [7n, 8n, 9n],
      [2, 1],
    ])
  })

  test('larger than one call of the kernel comes whole', () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `a:${i} x:${i} x:0 b:1`)
    const columns = parse({ text: text(lines.join('\n')), file: '-' })
    expect(columns.samples).toBe(20_000)
    expect(columns.signs[2 * 19_999]).toBe(19_999n)
    expect(columns.dense[0]![2 * 15_000]).toBe(15_000)
  })

  test('that is wrong names the line, counted over all blocks', () => {
    expect(() => parse({ text: text('a:1\na:x'), file: 'pipe', linesBefore: 10 })).toThrow(
      expect.objectContaining({ where: { file: 'pipe', line: 12, column: 3 } }),
    )
  })
})

test('columns cut and joined again are what they were', () => {
  const columns = parse({ text: text('a:1 a:2 b:3\na:4 x:1 x:2 b:5 b:6\na:7 b:8'), file: '-' })
  const cut = [sliceColumns(SLOTS, columns, 0, 1), sliceColumns(SLOTS, columns, 1, 3)]
  expect(joinColumns(SLOTS, cut)).toEqual(columns)
})
