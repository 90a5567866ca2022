import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { stacksText, threadStacks } from './index.ts'

const workers: Worker[] = []
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()))
})

const WORDS = new Int32Array(new SharedArrayBuffer(8))

async function started(name: string, work: string): Promise<void> {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    function waitsHere() { Atomics.wait(workerData, 0, 0) }
    function countsHere() { for (;;) Atomics.add(workerData, 1, 1) }
    parentPort.on('message', () => undefined)
    parentPort.postMessage('runs')
    ${work}`
  const worker = new Worker(code, { eval: true, name, workerData: WORDS })
  workers.push(worker)
  await new Promise((resolve) => worker.once('message', resolve))
}

test('a thread that waits, one that loops and one that has nothing to do are told apart, and go on', async () => {
  await started('waiting', 'waitsHere()')
  await started('looping', 'countsHere()')
  await started('idle', '')
  const stacks = await threadStacks()
  const of = (name: string) => stacks.find((stack) => stack.name.includes(name))
  expect(of('waiting')?.frames?.[0]).toMatch(/^waitsHere \(/)
  expect(of('looping')?.frames?.[0]).toMatch(/^countsHere \(/)
  expect(of('idle')).toMatchObject({ frames: undefined })
  const text = stacksText(stacks)
  expect(text).toMatch(/waiting: \n {4}waitsHere/)
  expect(text).toMatch(/idle: waits for messages, or is inside a call that is not JavaScript/)
  const before = Atomics.load(WORDS, 1)
  await expect.poll(() => Atomics.load(WORDS, 1)).not.toBe(before)
})

test('a main thread that does not come back is seen by another thread of its process', async () => {
  const jiti = new URL('../../../node_modules/jiti/lib/jiti-register.mjs', import.meta.url).href
  const script = fileURLToPath(new URL('./stuck.testing.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', jiti, script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const timer = setTimeout(() => child.kill('SIGKILL'), 100_000)
  expect(await text(child.stdout)).toMatch(/^main: \n {4}neverComesBack \(/)
  clearTimeout(timer)
})
