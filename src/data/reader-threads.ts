/** @file The reader threads of one pool: starts them, carries messages, reports the first that dies. */
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type FifoFolder, makeFifos, wakeReader } from './fifo.ts'
import type { FromThread, ThreadData, ThreadSettings, ToThread } from './messages.ts'
import { killTree } from './pipe.ts'
import { createNote, endReads, notedProcess, type ProcessNote } from './process-note.ts'

/** Who listens to the threads at the moment. */
export interface ThreadListener {
  message(message: FromThread): void
  failed(error: Error): void
}

export class ReaderThreads {
  readonly #workers: readonly Worker[]
  /** The process that each thread runs at the moment. */
  readonly #processes: readonly ProcessNote[]
  readonly #fifos: FifoFolder | undefined
  readonly #atExit = () => {
    for (const note of this.#processes) endReads(note)
    this.#killProcesses()
    this.#fifos?.remove()
  }
  #listener: ThreadListener | undefined
  #failure: Error | undefined
  #closing = false

  constructor(threads: number, settings: ThreadSettings) {
    // dist/ lies two folders up from both src/data and dist/data.
    const entry = new URL('../../dist/data/reader-thread.js', import.meta.url)
    this.#processes = Array.from({ length: Math.max(1, threads) }, createNote)
    // Threads end with the process, what they started does not.
    if (settings.pipe) process.on('exit', this.#atExit)
    this.#fifos = settings.pipe && makeFifos(this.#processes.length)
    this.#workers = this.#processes.map((note, i) => {
      const workerData: ThreadData = { ...settings, process: note, fifos: this.#fifos?.paths[i] }
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

  /** Drops every chunk of a read, of which the commands are killed. */
  cancel(read: number): void {
    for (const note of this.#processes) endReads(note, read)
    for (let thread = 0; thread < this.count; thread++) this.post(thread, { kind: 'cancel', read })
    this.#killProcesses()
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
    this.#atExit()
    process.off('exit', this.#atExit)
  }

  /** Kills what the threads run and gives them a moment to see it: a process that nobody waits for stays as a zombie. */
  async #endProcesses(): Promise<void> {
    for (const note of this.#processes) endReads(note)
    this.#killProcesses()
    for (let i = 0; i < 100 && this.#processes.some((note) => notedProcess(note) > 0); i++) await setTimeout(10)
  }

  /** A thread waits until its command's output is closed, which what the command has left behind may hold open. */
  #killProcesses(): void {
    for (const [i, note] of this.#processes.entries()) {
      const pid = notedProcess(note)
      if (pid === 0) continue
      killTree(pid)
      if (this.#fifos) wakeReader(this.#fifos.paths[i]!.output)
    }
  }

  #fail(error: Error): void {
    if (this.#closing || this.#failure) return
    this.#failure = error
    this.#listener?.failed(error)
  }
}
