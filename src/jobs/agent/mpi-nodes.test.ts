import { expect, test } from 'vitest'
import { agreeOnEnd, type MpiNodes, share } from './mpi-nodes.ts'

/** The nodes of a job of which each ends as it says. */
const ending = (...texts: readonly string[]) => ({ exchange: async () => texts }) as unknown as MpiNodes

test('the job ends as the node that failed, with 0, or as asked to', async () => {
  expect(await agreeOnEnd(ending('0', '3', '-1'), 0)).toBe(3)
  expect(await agreeOnEnd(ending('0', '0'), 0)).toBe(0)
  expect(await agreeOnEnd(ending('0', '-1'), 0)).toBeUndefined()
})

test.each(['', 'NaN', '1e999', '-7', '0x10', '\u001b[2J'])('a node that ends with %j is named', async (text) => {
  const failure = (await agreeOnEnd(ending('0', text), 0).catch((error: Error) => error)) as Error
  expect(failure).toMatchObject({ code: 'NET_PEER_LOST' })
  expect(failure.message).toMatch(/^rank 1 is gone: it brought what it may not bring \(its end: expected an exit code/)
  expect(failure.message).not.toContain('\u001b')
})

test.each([-1, 0, 2 ** 31 - 1])('a job of %d bytes is looked at before room is made for it', async (bytes) => {
  const broadcast = async (values: unknown) => void (values as Int32Array).fill(bytes)
  await expect(share({ rank: 1, broadcast } as never, '')).rejects.toMatchObject({ code: 'NET_PEER_LOST' })
})
