import { expect, test } from 'vitest'
import { dayAfter, daysBetween, isDay, splitsOfDay } from './days.ts'

test('days follow each other as in the calendar', () => {
  expect(['20190720', '20200229', '20191231', '20190301'].map((day) => dayAfter(day, 1))).toEqual([
    ...['20190721', '20200301', '20200101', '20190302'],
  ])
  expect(dayAfter('20190301', -1)).toBe('20190228')
  expect(daysBetween('20190720', '20190802')).toBe(13)
})

test('what the calendar does not have is no day', () => {
  expect(['20190229', '20191301', '2019072', 'today', '20190720'].map(isDay)).toEqual([
    false,
    false,
    false,
    false,
    true,
  ])
})

test('splits are named by the minute they begin, and what does not fill one is left out', () => {
  expect(splitsOfDay(30)).toHaveLength(48)
  expect(splitsOfDay(30).slice(0, 3)).toEqual(['0000', '0030', '0100'])
  expect(splitsOfDay(500)).toEqual(['0000', '0820'])
})
