/** @file A process whose main thread does not come back, and a thread that asks where it is: run by stacks.test.ts. */
import { isMainThread, Worker } from 'node:worker_threads'
import { stackOfMain, stacksText } from './index.ts'

function neverComesBack(words: Int32Array<SharedArrayBuffer>): void {
  Atomics.wait(words, 0, 0)
}

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  worker.once('message', () => neverComesBack(new Int32Array(new SharedArrayBuffer(4))))
} else {
  const { parentPort } = await import('node:worker_threads')
  parentPort!.postMessage('runs')
  const { writeSync } = await import('node:fs')
  for (let stack = await stackOfMain(); ; stack = await stackOfMain()) {
    // Not there yet.
    if (!stack.frames?.some((frame) => frame.includes(neverComesBack.name))) continue
    writeSync(1, `${stacksText([stack])}\n`)
    process.kill(process.pid, 'SIGKILL')
  }
}
