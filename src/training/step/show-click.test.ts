import { expect, test } from 'vitest'
import { showClickEntry } from '../../weights/table/index.ts'
import { sampleValues, showClickNotices, showClickTables } from './show-click.ts'

const table = { name: 'embedding', dim: 4, init: { kind: 'zeros' } } as const
const slots = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  { kind: 'sparse', name: '1' },
  { kind: 'dense', name: 'x', width: 2, dtype: 'float32' },
] as const

test('only tables with an accessor or an entry count, and names that are slots are taken', () => {
  const entry = showClickEntry('show', 'click')
  expect(showClickTables([table], {}, slots as never)).toEqual({})
  expect(showClickTables([table], { embedding: { accessor: {} } }, slots as never)).toEqual({ embedding: {} })
  expect(showClickTables([{ ...table, entry }], {}, slots as never)).toEqual({ embedding: { click: 'click' } })
})

test('a name that no slot has is told', () => {
  const parameters = { embedding: { entry: 'show_click_entry:show:clicked' } }
  expect(showClickNotices([table], parameters, slots as never)).toEqual([
    'table embedding: no dense slot is named "show", so every sample counts as one show',
    'table embedding: no dense slot is named "clicked", so no sample counts as a click',
  ])
})

test('values of a slot come by sample, whatever chunk they lie in', () => {
  const chunk = (clicks: bigint[], x: number[]) => ({ dense: [BigInt64Array.from(clicks), Float32Array.from(x)] })
  const batch = {
    pieces: [
      { chunk: chunk([0n, 1n, 1n], [1, 2, 3, 4, 5, 6]), from: 1, to: 3 },
      { chunk: chunk([0n], [7, 8]), from: 0, to: 1 },
    ],
  }
  const values = (name: string | undefined) => {
    const out = new Float32Array(3)
    sampleValues(batch as never, slots as never, name, 9, out)
    return [...out]
  }
  expect([values('click'), values('x'), values(undefined)]).toEqual([
    [1, 1, 0],
    [3, 5, 7],
    [9, 9, 9],
  ])
})
