/** @file Batches are handed out in order, each when what it needs is there, over pauses and while there is no room. */
import { expect, test } from 'vitest'
import type { Batch } from '../../data/index.ts'
import { BatchesAhead } from './batches-ahead.ts'

async function* source(count: number) {
  for (let index = 0; index < count; index++) yield { index } as Batch
}

/** Notes what is asked for; room for so many batches that are not done. */
function needs(room = Number.POSITIVE_INFINITY) {
  const asked: number[] = []
  const state = { room, asked, failure: undefined as Error | undefined }
  return {
    state,
    ask: ({ index }: Batch) => {
      if (state.failure) throw state.failure
      if (state.room === 0) return false
      state.room--
      asked.push(index)
      return true
    },
    arrived: async () => {},
    isEnough: () => false,
  }
}

test('all come once and in order, and are asked for ahead', async () => {
  const own = needs()
  const batches = new BatchesAhead(source(30), own)
  const got: number[] = []
  for (let next = await batches.next(); !next.done; next = await batches.next()) {
    got.push(next.value.index)
    if (got.length === 5) await expect.poll(() => own.state.asked.length).toBe(13)
  }
  expect(got).toEqual(Array.from({ length: 30 }, (_, i) => i))
})

test('a pass that pauses asks again for what it had asked for, and loses no batch', async () => {
  const own = needs()
  const batches = new BatchesAhead(source(20), own)
  const got = [(await batches.next()).value.index]
  await expect.poll(() => own.state.asked.length).toBe(9)
  batches.pause()
  own.state.asked.length = 0
  for (let next = await batches.next(); !next.done; next = await batches.next()) got.push(next.value.index)
  expect(got).toEqual(Array.from({ length: 20 }, (_, i) => i))
  expect(own.state.asked).toEqual(got.slice(1))
})

test('a batch without room waits until one is done', async () => {
  const own = needs(2)
  const batches = new BatchesAhead(source(4), own)
  expect([(await batches.next()).value.index, (await batches.next()).value.index]).toEqual([0, 1])
  const third = batches.next()
  own.state.room = 1
  batches.changed()
  expect((await third).value.index).toBe(2)
})

test('an error comes in the place of the batch that met it', async () => {
  const own = needs(1)
  const batches = new BatchesAhead(source(4), own)
  own.state.failure = new Error('no disk')
  await expect(batches.next()).rejects.toThrow('no disk')
  await batches.return()
  expect(own.state.asked).toEqual([])
})
