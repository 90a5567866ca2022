import { expect, test } from 'vitest'
import type { Slot } from '../batch.ts'
import { compareSlots } from './compare-slots.ts'
import { namedAsData } from './head.ts'

const SLOTS: readonly Slot[] = [
  { kind: 'sparse', name: '1' },
  { kind: 'dense', name: 'dense_feature', width: 2, dtype: 'float32', aliases: ['dense_var'] },
]
const head = (text: string) => ({ file: 'part-0', lines: [{ number: 1, text }] })
const names = (text: string) => namedAsData(SLOTS, head(text)).map(({ name }) => name)

test('a slot goes by the name that the data has', () => {
  expect(names('1:5 dense_var:0.5 dense_var:1')).toEqual(['1', 'dense_var'])
  expect(names('1:5 dense_feature:0.5 dense_var:1')).toEqual(['1', 'dense_feature'])
  expect(names('1:5')).toEqual(['1', 'dense_feature'])
})

test('another name is no disagreement between model and data, another width is', () => {
  expect(compareSlots(SLOTS, head('1:5 dense_var:0.5 dense_var:1'), 'slot')).toEqual([])
  expect(compareSlots(SLOTS, head('1:5 dense_var:0.5'), 'slot')).toMatchObject([{ declared: 2, found: 1 }])
})
