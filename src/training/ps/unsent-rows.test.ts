/** @file Which rows a geo worker brings in, and when. */
import { expect, test } from 'vitest'
import { UnsentRows } from './unsent-rows.ts'

const signs = (...values: number[]) => BigUint64Array.from(values, BigInt)
const sorted = (taken: BigUint64Array) => [...taken].map(Number).sort((a, b) => a - b)

test('rows are taken once so many batches have trained them, the others with all', async () => {
  const rows = new UnsentRows(2)
  expect(sorted(rows.takeOften([signs(1, 2, 3), signs(1, 2), signs(1)], 3))).toEqual([1])
  expect(sorted(rows.takeOften([signs(2), signs(1)], 3))).toEqual([2])
  expect(sorted(rows.takeOften([signs(1)], 3))).toEqual([])
  expect(sorted(rows.takeOften([signs(1)], 3))).toEqual([1])
  expect(sorted(await rows.takeAll([signs(4), signs(2, 4)]))).toEqual([2, 3, 4])
  expect(sorted(await rows.takeAll([]))).toEqual([])
})

test('batches without rows change nothing', async () => {
  const rows = new UnsentRows(1)
  expect(sorted(rows.takeOften([], 2))).toEqual([])
  expect(sorted(rows.takeOften([signs()], 2))).toEqual([])
  expect(sorted(await rows.takeAll([signs(7)]))).toEqual([7])
})

test('more than go at a time are taken each once, and the event loop runs meanwhile', async () => {
  const rows = new UnsentRows(4)
  const many = BigUint64Array.from({ length: 300_000 }, (_, i) => BigInt(i + 1) * 0x9e3779b97f4a7c15n)
  rows.takeOften([many], Number.POSITIVE_INFINITY)
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  const taken = await rows.takeAll([many.slice(100_000)])
  clearInterval(counting)
  expect(new Set(taken)).toEqual(new Set(many))
  expect(taken).toHaveLength(many.length)
  expect(turns).toBeGreaterThan(0)
  expect(await rows.takeAll([])).toHaveLength(0)
})
