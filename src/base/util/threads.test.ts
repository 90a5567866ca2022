/** @file A thread that was made ahead cannot be told from one that was started when it was wanted. */
import { once } from 'node:events'
import { MessageChannel, type Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { makeThreads, shareWithThreads, startThread } from './index.ts'

const FILE = new URL('./threads.testing.ts', import.meta.url)
const jiti = new URL('../../../node_modules/jiti/lib/jiti-register.mjs', import.meta.url).href
const options = { execArgv: ['--import', jiti] }

const workers: Worker[] = []
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()))
})

/** What the thread says at first, and to a message that is sent to it at once. */
async function answers(name: string): Promise<readonly unknown[]> {
  const { port1, port2 } = new MessageChannel()
  const worker = startThread(FILE, { name, port: port2 }, { ...options, transferList: [port2] })
  workers.push(worker)
  worker.postMessage('at once')
  const said: unknown[] = []
  while (said.length < 2) said.push(...(await once(port1, 'message')))
  port1.close()
  return said
}

test('threads made ahead are given their settings, what is shared by then, and every message', async () => {
  shareWithThreads('of threads.test', 'before')
  makeThreads(FILE, 1, options)
  shareWithThreads('of threads.test', 'after')
  for (const name of ['made ahead', 'started'])
    expect(await answers(name)).toEqual([
      { name, shared: 'after' },
      { name, message: 'at once' },
    ])
})

test('one that cannot be made is no failure of the process; it is one when it is wanted', async () => {
  const missing = new URL('./no-such-thread.ts', import.meta.url)
  makeThreads(missing, 1, options)
  const worker = startThread(missing, {}, options)
  workers.push(worker)
  const [error] = await once(worker, 'error')
  expect(String(error)).toMatch(/no-such-thread/)
})
