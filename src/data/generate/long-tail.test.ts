import { describe, expect, test } from 'vitest'
import { exactAuc } from './hidden-model.ts'
import { createLongTail } from './long-tail.ts'

const ROWS = 20_000

function draw(seed: number, rows = ROWS) {
  const stream = createLongTail(seed, rows)
  return Array.from({ length: rows }, () => {
    const { ids, dense, label, second, score } = stream.next()
    return { ids: [...ids], dense: [...dense], label, second, score }
  })
}

describe('long-tailed data', () => {
  const rows = draw(1)

  test('is the same for the same seed, and other for another', () => {
    expect(draw(1, 50)).toEqual(draw(1, 50))
    expect(draw(2, 50)).not.toEqual(draw(1, 50))
  })

  test('has mostly ids that are seen a few times', () => {
    for (const column of [0, 1, 9]) {
      const counts = new Map<number, number>()
      for (const { ids } of rows) counts.set(ids[column]!, (counts.get(ids[column]!) ?? 0) + 1)
      const seldom = [...counts.values()].filter((count) => count <= 8).length
      expect(seldom / counts.size).toBeGreaterThan(0.8)
    }
  })

  test('drifts: the items of the end are not those of the beginning', () => {
    const items = (part: typeof rows) => new Set(part.map(({ ids }) => ids[1]))
    const [first, last] = [items(rows.slice(0, 2000)), items(rows.slice(-2000))]
    expect([...last].filter((item) => first.has(item))).toEqual([])
  })

  test('remembers what a user clicked, newest first', () => {
    const clicked = new Map<number, number>()
    for (const { ids, label } of rows) {
      const [user, item] = ids as [number, number]
      expect(ids[18]).toBe(clicked.get(user) ?? -1)
      if (label === 1) clicked.set(user, item)
    }
  })

  test('has some clicks, fewer second events among them, and a truth that ranks them', () => {
    const share = (name: 'label' | 'second') => rows.reduce((sum, row) => sum + row[name], 0) / rows.length
    expect(share('label')).toBeGreaterThan(0.15)
    expect(share('label')).toBeLessThan(0.5)
    expect(share('second')).toBeGreaterThan(0.03)
    expect(rows.every(({ label, second }) => second <= label)).toBe(true)
    const scores = (label: number) =>
      Float64Array.from(
        rows.filter((row) => row.label === label),
        ({ score }) => score,
      )
    expect(exactAuc(scores(1), scores(0))).toBeGreaterThan(0.75)
  })
})
