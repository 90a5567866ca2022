import { expect, test } from 'vitest'
import { AllGather } from './all-gather.ts'

test('each gets what all have brought, by rank', async () => {
  const gather = new AllGather(2)
  const first = gather.join(1, { name: 'start', what: 'b' })
  expect(await gather.join(0, { name: 'start', what: 'a' })).toEqual({ kind: 'met', brought: ['a', 'b'] })
  expect(await first).toEqual({ kind: 'met', brought: ['a', 'b'] })
})

test('a worker that waits gets the ranks it waits for', async () => {
  const gather = new AllGather(3, 5)
  expect(await gather.join(1, { name: 'start', what: null })).toEqual({ kind: 'waiting', awaited: [0, 2] })
})

test('workers that block at different places learn at once that they are apart', async () => {
  const gather = new AllGather(2, 60_000)
  const saving = gather.join(0, { name: 'save 1', what: null, blocking: true })
  const apart = { kind: 'apart', places: { 0: 'save 1', 1: 'barrier 1' } }
  expect(await gather.join(1, { name: 'barrier 1', what: null, blocking: true })).toEqual(apart)
  expect(await saving).toEqual(apart)
})

test('a worker that does not block may still come', async () => {
  const gather = new AllGather(2, 5)
  const saving = gather.join(0, { name: 'save 1', what: null, blocking: true })
  expect(await gather.join(1, { name: 'metrics', what: null })).toEqual({ kind: 'waiting', awaited: [0] })
  expect(await saving).toEqual({ kind: 'waiting', awaited: [1] })
})

test('a worker that has left is not waited for', async () => {
  const gather = new AllGather(2, 60_000)
  const saving = gather.join(0, { name: 'save 1', what: null, blocking: true })
  gather.leave(1)
  expect(await saving).toEqual({ kind: 'apart', places: { 0: 'save 1', 1: null } })
})

test('blocking at one gathering after the other is no standstill', async () => {
  const gather = new AllGather(2, 60_000)
  const both = (name: string) => [0, 1].map((rank) => gather.join(rank, { name, what: rank, blocking: true }))
  for (const name of ['a', 'b', 'c']) {
    const met = { kind: 'met', brought: [0, 1] }
    expect(await Promise.all(both(name))).toEqual([met, met])
  }
})
