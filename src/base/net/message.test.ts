import { expect, test } from 'vitest'
import { BadMessage, list, readJson, text, whole } from './message.ts'

const refusalOf = (value: unknown) => {
  try {
    readJson(Buffer.from(JSON.stringify(value)), 'it', list(whole(0, 1), 3))
    return 'none'
  } catch (error) {
    return error instanceof BadMessage ? error.message : 'another error'
  }
}

test.each([
  [{ a: 'x'.repeat(100_000) }, 'it: expected a list of at most 3, got an object'],
  [Array(100_000).fill('x'), 'it: expected a list of at most 3, got a list of 100000'],
  ['x'.repeat(100_000), `it: expected a list of at most 3, got "${'x'.repeat(79)}`],
  [[[]], 'it[0]: expected a whole number from 0 to 1, got []'],
  [null, 'it: expected a list of at most 3, got null'],
])('a refusal shows the size of what is large, and not all of it', (value, message) => {
  expect(refusalOf(value)).toBe(message)
})

test('what is not there is called nothing', () => {
  expect(() => text(1)(undefined, 'it')).toThrow('it: expected a text of at most 1 characters, got nothing')
})

test('a refusal of a message of megabytes costs nothing beside reading it', () => {
  const large = Array.from({ length: 200_000 }, () => ['x'])
  const read = list(whole(0, 1), 3)
  let written = 0
  const spy = Object.assign(large, { toJSON: () => written++ })
  expect(() => read(spy, 'it')).toThrow(BadMessage)
  expect(written).toBe(0)
})
