import { expect, test } from 'vitest'
import { Strangers } from './strangers.ts'

test('who is refused is told once a second, with how many others were', () => {
  const told: string[] = []
  let now = 0
  const strangers = new Strangers(
    (event) => event.kind === 'warning' && told.push(event.message),
    () => now,
  )
  for (; now < 2500; now += 100) strangers.refused('10.0.0.9:1', new Error(`at ${now}`))
  expect(told).toEqual([
    'A connection was refused: Error: at 0',
    'A connection was refused (and 9 more since the last such line): Error: at 1000',
    'A connection was refused (and 9 more since the last such line): Error: at 2000',
  ])
})

test('a host that is refused 20 times in a second is not listened to until the second is over; others are', () => {
  let now = 0
  const strangers = new Strangers(
    () => undefined,
    () => now,
  )
  for (let port = 1; port <= 20; port++) {
    expect(strangers.isTooOften(`10.0.0.9:${port}`)).toBe(false)
    strangers.refused(`10.0.0.9:${port}`, new Error('no'))
  }
  expect(strangers.isTooOften('10.0.0.9:99')).toBe(true)
  expect(strangers.isTooOften('10.0.0.8:99')).toBe(false)
  now = 1000
  expect(strangers.isTooOften('10.0.0.9:99')).toBe(false)
})
