/** @file The reader threads of one pool: starts them, carries messages, reports the first that dies. */
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { FromThread, ThreadData, ThreadSettings, ToThread } from './messages.ts'
import { killTree, type ProcessNote } from './pipe.ts'

/** Who listens to the threads at the moment. */
export interface ThreadListener {
  message(message: FromThread): void
  failed(error: Error): void
}

export class ReaderThreads {
  readonly #workers: readonly Worker[]
  /** The process that each thread runs at the moment. */
  readonly #processes: readonly ProcessNote[]
  readonly #atExit = () => this.#killProcesses()
  #listener: ThreadListener | undefined
  #failure: Error | undefined
  #closing = false

  constructor(threads: number, settings: ThreadSettings) {
    // dist/ lies two folders up from both src/data and dist/data.
    const entry = new URL('../../dist/data/reader-thread.js', import.meta.url)
    this.#processes = Array.from({ length: Math.max(1, threads) }, () => new Int32Array(new SharedArrayBuffer(8)))
    // Threads end with the process, what they started does not.
    if (settings.pipe) process.on('exit', this.#atExit)
    this.#workers = this.#processes.map((note, i) => {
      const workerData: ThreadData = { ...settings, process: note }
      const worker = new Worker(entry, { workerData, execArgv: [], name: `reader-${i}` })
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
    await this.#endProcesses()
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
    this.#killProcesses()
    process.off('exit', this.#atExit)
  }

  /** Kills what the threads run and gives them a moment to see it: a process that nobody waits for stays as a zombie. */
  async #endProcesses(): Promise<void> {
    for (const note of this.#processes) Atomics.store(note, 1, 1)
    this.#killProcesses()
    for (let i = 0; i < 100 && this.#processes.some((note) => Atomics.load(note, 0) > 0); i++) await setTimeout(10)
  }

  #killProcesses(): void {
    for (const note of this.#processes) killTree(Atomics.load(note, 0))
  }

  #fail(error: Error): void {
    if (this.#closing || this.#failure) return
    this.#failure = error
    this.#listener?.failed(error)
  }
}
