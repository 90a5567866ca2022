import { expect, test } from 'vitest'
import { Meetings } from './meetings.ts'

test('each gets what all have brought, by rank', async () => {
  const meetings = new Meetings(2)
  const first = meetings.come(1, { name: 'start', what: 'b' })
  expect(await meetings.come(0, { name: 'start', what: 'a' })).toEqual({ kind: 'met', brought: ['a', 'b'] })
  expect(await first).toEqual({ kind: 'met', brought: ['a', 'b'] })
})

test('who waits is told whom it waits for', async () => {
  const meetings = new Meetings(3, 5)
  expect(await meetings.come(1, { name: 'start', what: null })).toEqual({ kind: 'waiting', awaited: [0, 2] })
})

test('workers that block at different meetings are told at once that they are apart', async () => {
  const meetings = new Meetings(2, 60_000)
  const saving = meetings.come(0, { name: 'save 1', what: null, blocking: true })
  const apart = { kind: 'apart', places: { 0: 'save 1', 1: 'barrier 1' } }
  expect(await meetings.come(1, { name: 'barrier 1', what: null, blocking: true })).toEqual(apart)
  expect(await saving).toEqual(apart)
})

test('a worker that does not block may still come', async () => {
  const meetings = new Meetings(2, 5)
  const saving = meetings.come(0, { name: 'save 1', what: null, blocking: true })
  expect(await meetings.come(1, { name: 'metrics', what: null })).toEqual({ kind: 'waiting', awaited: [0] })
  expect(await saving).toEqual({ kind: 'waiting', awaited: [1] })
})

test('a worker that has left is not waited for', async () => {
  const meetings = new Meetings(2, 60_000)
  const saving = meetings.come(0, { name: 'save 1', what: null, blocking: true })
  meetings.leave(1)
  expect(await saving).toEqual({ kind: 'apart', places: { 0: 'save 1', 1: null } })
})

test('blocking at one meeting after the other is no standstill', async () => {
  const meetings = new Meetings(2, 60_000)
  const both = (name: string) => [0, 1].map((rank) => meetings.come(rank, { name, what: rank, blocking: true }))
  for (const name of ['a', 'b', 'c']) {
    const met = { kind: 'met', brought: [0, 1] }
    expect(await Promise.all(both(name))).toEqual([met, met])
  }
})
