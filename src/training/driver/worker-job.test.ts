/** @file A worker that waits for servers stops with its signal. */
import { expect, test } from 'vitest'
import { openServers } from './worker-job.ts'

test('waiting for a server that is not up ends with the signal, by its reason', async () => {
  const stop = new AbortController()
  const identity = { role: 'worker', rank: 0, jobId: 'job', token: 'token', facts: {}, agreement: {} } as const
  // Nothing listens at port 1.
  const opening = openServers({ servers: ['127.0.0.1:1'], identity }, stop.signal)
  setTimeout(() => stop.abort(), 200)
  const error = await opening.catch((reason: unknown) => reason)
  expect(error).toBe(stop.signal.reason)
})
