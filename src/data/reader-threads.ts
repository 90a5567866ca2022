/** @file The reader threads of one pool: starts them, carries messages, reports the first that dies. */
import { Worker } from 'node:worker_threads'
import type { FromThread, ThreadSettings, ToThread } from './messages.ts'

/** Who listens to the threads at the moment. */
export interface ThreadListener {
  message(message: FromThread): void
  failed(error: Error): void
}

export class ReaderThreads {
  readonly #workers: readonly Worker[]
  #listener: ThreadListener | undefined
  #failure: Error | undefined
  #closing = false

  constructor(threads: number, settings: ThreadSettings) {
    // dist/ lies two folders up from both src/data and dist/data.
    const entry = new URL('../../dist/data/reader-thread.js', import.meta.url)
    this.#workers = Array.from({ length: Math.max(1, threads) }, (_, i) => {
      const worker = new Worker(entry, { workerData: settings, execArgv: [], name: `reader-${i}` })
      worker.on('message', (message: FromThread) => this.#listener?.message(message))
      worker.on('messageerror', (error) => this.#fail(error))
      worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))))
      worker.on('exit', (code) => this.#fail(new Error(`Reader thread ${i} stopped unexpectedly (exit code ${code}).`)))
      worker.unref()
      return worker
    })
  }

  get count(): number {
    return this.#workers.length
  }

  post(thread: number, message: ToThread): void {
    this.#workers[thread]!.postMessage(message)
  }

  /** Gives messages to one listener at a time; threads keep the process alive while there is one. */
  listen(listener: ThreadListener): void {
    if (this.#listener) throw new Error('internal: a reader pool reads one input at a time; close the reader before')
    this.#listener = listener
    for (const worker of this.#workers) worker.ref()
    if (this.#failure) listener.failed(this.#failure)
  }

  unlisten(): void {
    this.#listener = undefined
    for (const worker of this.#workers) worker.unref()
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#listener?.failed(new Error('The reader pool was closed while its input was being read.'))
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
  }

  #fail(error: Error): void {
    if (this.#closing || this.#failure) return
    this.#failure = error
    this.#listener?.failed(error)
  }
}
