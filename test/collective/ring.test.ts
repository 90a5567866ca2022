/** @file The embedded ring as processes of this host: the contract, and what happens when ranks fail. */
import { describe, expect, test } from 'vitest'
import { openGroup, type RingPlan } from '../../src/training/collective/index.ts'
import { testGroup } from '../contracts/group.ts'
import { freePorts } from '../ports.testing.ts'
import { expectWithin } from '../within.testing.ts'
import { type Ended, RING_IDENTITY, startRing } from './ranks.testing.ts'

const works = { 2: 'cases', 3: 'cases-of-both', 4: 'some-cases', 5: 'cases' } as const
const run = (more: Partial<RingPlan>) => async (size: number, work: string) => {
  const ranks = await startRing(size, work, more)
  return await Promise.all(ranks.map(({ ended }) => ended))
}

testGroup({
  name: 'the ring over sockets',
  works,
  run: run({ within: 'sockets' }),
  description: /ring of \d over sockets/,
})
testGroup({
  name: 'the ring over shared memory',
  works,
  run: run({}),
  description: /ring of \d over shared memory/,
})

describe.each(['sockets', 'memory'] as const)('failures of the ring over %s', (within) => {
  // These wait for most of their time, so they do it together.
  test.concurrent('a rank killed inside a call is named by all others, which stop within 5 seconds', async () => {
    const ranks = await startRing(3, 'forever', { within })
    await Promise.all(ranks.map((rank) => rank.until(({ running }) => running !== undefined)))
    const killed = performance.now()
    ranks[1]!.process.kill('SIGKILL')
    for (const rank of [ranks[0]!, ranks[2]!]) {
      const { code, lines } = await rank.ended
      expect(code).toBe(3)
      expect(lines.at(-1)).toMatchObject({ code: 'COLLECTIVE_RANK_LOST' })
      expect(lines.at(-1)!.failure).toMatch(/rank 1 \(127\.0\.0\.1:\d+\) is gone during all-reduce of 100000 float32/)
    }
    await expectWithin(performance.now() - killed, 5000)
  })

  test.concurrent('a rank that does not answer any more is named within 5 seconds', async () => {
    // As runner.silence_limit: 3.5 has it.
    const ranks = await startRing(3, 'forever', { within, identity: { ...RING_IDENTITY, silenceMs: 3500 } })
    await Promise.all(ranks.map((rank) => rank.until(({ running }) => running !== undefined)))
    const stopped = performance.now()
    ranks[2]!.process.kill('SIGSTOP')
    for (const rank of ranks.slice(0, 2)) {
      const { lines } = await rank.ended
      expect(lines.at(-1)!.failure).toMatch(/rank 2 \(.*\) is gone .*no sign of life/)
    }
    await expectWithin(performance.now() - stopped, 6000)
    ranks[2]!.process.kill('SIGKILL')
    await ranks[2]!.ended
  })

  test.concurrent('the reason reaches the others also when a thread of that rank waits in a call', async () => {
    const ranks = await startRing(2, 'fails-in-call', { within })
    const [{ lines }] = (await Promise.all(ranks.map((rank) => rank.ended))) as [Ended, Ended]
    expect(lines.at(-1)!.failure).toMatch(/rank 1 .* stopped: the disk of this rank is full/)
  })

  test('the reason for which a rank stops reaches all others', async () => {
    const ranks = await startRing(3, 'fails', { within })
    const ended = await Promise.all(ranks.map((rank) => rank.ended))
    for (const { lines } of ended.slice(0, 2))
      expect(lines.at(-1)).toMatchObject({
        code: 'COLLECTIVE_RANK_STOPPED',
        failure: expect.stringMatching(/rank 2 .* stopped: the data of this rank is broken/),
      })
  })

  test('ranks that make different calls name who is where', async () => {
    const ranks = await startRing(2, 'differ', { within })
    const ended = await Promise.all(ranks.map((rank) => rank.ended))
    for (const { lines } of ended)
      expect(lines.at(-1)).toMatchObject({
        code: 'COLLECTIVE_ORDER',
        failure: expect.stringMatching(/rank \d .* is at call 1, all-reduce \((float32|int32), .* while rank \d/),
      })
  })
})

test('a rank that waits for others names them, and gives up when it is asked to', async () => {
  const endpoints = (await freePorts(2)).map((port) => `127.0.0.1:${port}`)
  const plan: RingPlan = { kind: 'ring', rank: 0, endpoints, identity: { jobId: 'alone', token: 'alone' } }
  const stop = new AbortController()
  const notices: string[] = []
  const notice = (message: string) => {
    notices.push(message)
    stop.abort()
  }
  await expect(openGroup(plan, notice, stop.signal)).rejects.toThrow('aborted')
  expect(notices).toEqual([`Waiting for rank 1 (${endpoints[1]}) to come.`])
})
