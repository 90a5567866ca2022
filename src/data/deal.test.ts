import { expect, test } from 'vitest'
import { createDealer } from './deal.ts'
import type { Chunk, InputKind } from './plan.ts'

const chunk = (number: number): Chunk => ({ number, place: number, kind: 'python', file: 'x', from: 0, to: 1 })
function dealt(input: InputKind) {
  const given: string[] = []
  const dealer = createDealer(2, input, (thread, { number }) => given.push(`${number} to ${thread}`))
  for (let number = 0; number < 5; number++) dealer.add(chunk(number))
  return { dealer, given }
}

test('pieces of text are dealt at once, to the thread with the least to do', () => {
  const { given } = dealt('text')
  expect(given).toEqual(['0 to 0', '1 to 1', '2 to 0', '3 to 1', '4 to 0'])
})

test('a whole file goes to the thread that is ready first, in order', () => {
  const { dealer, given } = dealt('python')
  expect(given).toEqual(['0 to 0', '1 to 1'])
  dealer.done(1)
  dealer.done(2)
  dealer.done(3)
  expect(given).toEqual(['0 to 0', '1 to 1', '2 to 1', '3 to 1', '4 to 1'])
  expect([0, 1, 4].map((number) => dealer.threadOf(number))).toEqual([0, 1, 1])
})
