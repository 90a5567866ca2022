/** @file Nodes of a submitted job, MPI's among them, which exchange texts over a connection of their starter's. */
import { expect, test } from 'vitest'
import type { Job } from '../submit/index.ts'
import { rendezvous } from './rendezvous.ts'

const job = { roles: [{ name: 'pserver' }, { name: 'trainer' }] } as unknown as Job

/** Both at once, as a barrier would let them. */
function meet(change: (text: string) => string = (text) => text) {
  const texts: string[] = []
  let all: () => void = () => undefined
  const met = new Promise<void>((resolve) => {
    all = resolve
  })
  const exchange = (node: number) => async (text: string) => {
    texts[node] = change(text)
    if (Object.keys(texts).length === 2) all()
    await met
    return texts
  }
  return Promise.all([0, 1].map((node) => rendezvous({ job, node, host: '127.0.0.1', exchange: exchange(node) })))
}

test('draw a token of 32 bytes for the job, the same on all, another for every job', async () => {
  const [first, second] = await meet()
  expect(first!.token).toMatch(/^[0-9a-f]{64}$/)
  expect(second!.token).toBe(first!.token)
  expect(second!.addresses).toEqual(first!.addresses)
  expect((await meet())[0]!.token).not.toBe(first!.token)
})

test.each([
  ['no token', { server: '', trainer: '127.0.0.1:1' }],
  ['a short one', { server: '', trainer: '127.0.0.1:1', token: 'ab' }],
  ['an address that is none', { server: '', trainer: '$(x)', token: 'a'.repeat(64) }],
])('refuse a node that gives %s', async (_what, text) => {
  await expect(meet(() => JSON.stringify(text))).rejects.toThrow(/node 0/)
})
