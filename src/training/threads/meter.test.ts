import { expect, test } from 'vitest'
import { emptyAuc } from '../../weights/metric/index.ts'
import { meterNotices } from './meter.ts'

const meter = (counts: Readonly<Record<number, number>>) => {
  const auc_income = emptyAuc()
  for (const [bucket, count] of Object.entries(counts)) auc_income[Number(bucket)] = count
  return { samples: 300, sums: {}, histograms: { auc_income } } as unknown as Parameters<typeof meterNotices>[0]
}

test('an area over one class alone is said to be none', () => {
  const negative = emptyAuc().length / 2
  expect(meterNotices(meter({ [negative + 7]: 300 }))).toEqual([
    'auc_income is 0.5, for all its labels are 0: it has nothing to tell apart.',
  ])
  expect(meterNotices(meter({ 7: 300 }))[0]).toContain('all its labels are 1')
  expect(meterNotices(meter({ 7: 1, [negative + 7]: 299 }))).toEqual([])
  expect(meterNotices(meter({ 7: 99 }))).toEqual([])
  expect(meterNotices(meter({}))).toEqual([])
})
