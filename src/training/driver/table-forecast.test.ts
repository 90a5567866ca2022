/** @file What is said of tables before training: what fits says little, what does not says what to do. */
import { expect, test } from 'vitest'
import { forecastTable, forecastText } from './table-forecast.ts'

const GB = 1e9
const room = { onDisk: false, memoryBytes: 16 * GB }
const text = (...args: Parameters<typeof forecastTable>) => forecastText(forecastTable(...args))

test('a table that fits is one line', () => {
  expect(text('ids', 1_000_000, 108, room)).toEqual([
    'table ids: about 1,000,000 rows after an epoch, 140.0 MB of memory',
  ])
})

test('a table larger than memory is warned of, with the way out', () => {
  expect(text('ids', 200_000_000, 108, room)[1]).toMatchInlineSnapshot(
    `"warning: table ids: 28.0 GB do not fit into the 16.0 GB of memory that are free here: set table_parameters.ids.table_class: SSDSparseTable, or spread the table over parameter servers"`,
  )
})

test('a limit without a disk says what it gives up', () => {
  expect(text('ids', 20_000_000, 108, { ...room, limitBytes: 0.5 * GB })[1]).toMatch(
    /holds about 3,571,428 of them, the others will be given up/,
  )
})

test('on a disk, memory is the limit and the rest is there, if it has room', () => {
  const onDisk = { ...room, onDisk: true, limitBytes: 0.5 * GB }
  const fits = forecastTable('ids', 20_000_000, 108, { ...onDisk, freeDiskBytes: 10 * GB })
  expect(fits).toMatchObject({ memoryBytes: 0.5 * GB, warnings: [] })
  expect(fits.diskBytes / GB).toBeCloseTo(2.48, 1)
  expect(text('ids', 20_000_000, 108, { ...onDisk, freeDiskBytes: 3 * GB })[1]).toMatch(
    /has 3.0 GB free, and up to 5.0 GB/,
  )
  expect(text('ids', 500_000_000, 108, onDisk)[1]).toMatch(/more than half of its memory_limit of 500.0 MB/)
})
