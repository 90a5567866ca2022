import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseLineReference } from '../../base/kernel/text-reference.testing.ts'
import type { Slot } from '../batch.ts'
import { type CriteoLikeOptions, generateCriteoLike } from './criteo-like.ts'
import { exactAuc } from './hidden-model.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-generate-'))
afterAll(() => rmSync(root, { recursive: true }))

const SPARSE: Slot[] = Array.from({ length: 26 }, (_, i) => ({ kind: 'sparse', name: `${i + 1}` }))
const SLOTS: Slot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  ...SPARSE,
  { kind: 'dense', name: 'dense_feature', width: 13, dtype: 'float32' },
]

let folders = 0
function generate(options: Partial<CriteoLikeOptions> = {}) {
  const out = join(root, `${folders++}`)
  const result = generateCriteoLike({ rows: 300, out, ...options })
  const linesOf = (name: string) =>
    readdirSync(join(out, name))
      .sort()
      .flatMap((file) =>
        readFileSync(join(out, name, file), 'utf8')
          .trimEnd()
          .split('\n'),
      )
  return { ...result, out, train: linesOf('train'), test: linesOf('test') }
}

describe('criteo-like data', () => {
  test('has the same rows for the same seed in any number of parts, and others for another seed', () => {
    const one = generate({ seed: 4 })
    const three = generate({ seed: 4, parts: 3 })
    expect(readdirSync(join(three.out, 'train'))).toEqual(['part-000', 'part-001', 'part-002'])
    expect(three.train).toEqual(one.train)
    expect(three.test).toEqual(one.test)
    expect([one.train.length, one.test.length]).toEqual([300, 30])
    expect(generate({ seed: 5 }).train).not.toEqual(one.train)
  })

  test('is the same in slot text and in MultiSlot text, with every slot', () => {
    const slot = generate({ format: 'slot' })
    const multislot = generate({ format: 'multislot' })
    const parsed = slot.train.map((line) => parseLineReference('slot', SLOTS, line))
    expect(multislot.train.map((line) => parseLineReference('multislot', SLOTS, line))).toEqual(parsed)
    expect(parsed.every(({ kind }) => kind === 'sample')).toBe(true)
    expect(slot.train[0]).toMatch(/^click:[01]( dense_feature:\S+){13}( \d+:\d+){26}$/)
    expect(multislot.train[0]).toMatch(/^1 [01]( 1 \d+){26} 13( \S+){13}$/)
  })

  test('as criteo-tsv has label, 13 counts and 26 hex columns, some of them missing', () => {
    const { train } = generate({ format: 'criteo-tsv' })
    const rows = train.map((line) => line.split('\t'))
    for (const [label, ...columns] of rows) {
      expect(label).toMatch(/^[01]$/)
      expect(columns).toHaveLength(39)
      expect(columns.slice(0, 13).every((text) => /^(-?\d+)?$/.test(text))).toBe(true)
      expect(columns.slice(13).every((text) => /^([0-9a-f]{8})?$/.test(text))).toBe(true)
    }
    expect(rows.some((row) => row.slice(1, 14).includes(''))).toBe(true)
    expect(rows.some((row) => row.slice(14).includes(''))).toBe(true)
  })

  test('has a quarter of clicks, long-tailed ids up to a million and a hidden model that ranks well', () => {
    const { train, positiveShare, hiddenAuc } = generate({ rows: 20_000, testShare: 0.5 })
    expect(positiveShare).toBeGreaterThan(0.23)
    expect(positiveShare).toBeLessThan(0.27)
    expect(hiddenAuc).toBeGreaterThan(0.78)
    expect(hiddenAuc).toBeLessThan(0.82)
    const counts = new Map<number, number>()
    for (const line of train) {
      const id = Number(/ 1:(\d+)/.exec(line)![1])
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    // A share of log 2 / log 10^6 for the most frequent one, and most others seen once.
    expect(Math.max(...counts.values()) / train.length).toBeCloseTo(Math.log(2) / Math.log(1e6), 2)
    expect([...counts.values()].filter((count) => count === 1).length).toBeGreaterThan(counts.size / 2)
    expect(Math.max(...counts.keys())).toBeGreaterThan(900_000)
    expect(Math.max(...counts.keys())).toBeLessThanOrEqual(1_000_000)
  })

  test('reports progress up to the end', () => {
    const seen: number[] = []
    generate({ onProgress: (rows, ofRows) => seen.push(rows / ofRows) })
    expect(seen.at(-1)).toBe(1)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
  })

  test('does not write into a folder that is not empty unless forced', () => {
    const { out, train } = generate()
    writeFileSync(join(out, 'mine'), 'kept')
    expect(() => generateCriteoLike({ rows: 10, out })).toThrow('The output folder is not empty.')
    expect(readFileSync(join(out, 'train/part-000'), 'utf8').trimEnd().split('\n')).toEqual(train)
    generateCriteoLike({ rows: 10, out, force: true })
    expect(readFileSync(join(out, 'train/part-000'), 'utf8').trimEnd().split('\n')).toHaveLength(10)
    expect(readFileSync(join(out, 'mine'), 'utf8')).toBe('kept')
  })

  test('refuses sizes that make no sense', () => {
    expect(() => generate({ rows: 0 })).toThrow('rows: expected a whole number from 1 on, found 0.')
    expect(() => generate({ rows: 3, parts: 4 })).toThrow('parts: expected 1 to 3')
  })
})

test('exact AUC counts ties half', () => {
  expect(exactAuc(Float64Array.of(2, 3), Float64Array.of(0, 1))).toBe(1)
  expect(exactAuc(Float64Array.of(1, 1), Float64Array.of(1, 1))).toBe(0.5)
  expect(exactAuc(Float64Array.of(1, 3), Float64Array.of(2, 1))).toBe(0.625)
})
