/** @file The preparation threads of a process: hands out samples to collect, and lets nobody collect while rows are written back. */
import { Worker } from 'node:worker_threads'
import { builtFile, fromPlainError } from '../../base/util/index.ts'
import type { Piece } from '../../data/index.ts'
import type { Side } from './pass-rows.ts'
import type { FromPrepareThread, PrepareThreadData, ToPrepareThread } from './prepare-thread.ts'

/** Samples that a thread is given at once: small enough that a write-back waits for milliseconds only. */
const SAMPLES_AT_ONCE = 32_768

interface Task {
  readonly message: ToPrepareThread
  readonly resolve: (copied: number) => void
  readonly reject: (error: Error) => void
}

interface Preparer {
  readonly worker: Worker
  task: Task | undefined
}

export class PrepareThreads {
  readonly #preparers: readonly Preparer[]
  readonly #segments: number
  readonly #waiting: Task[] = []
  /** Samples wait while rows are written back: one pulled before and stored after would be a pass old. */
  #held = false
  #wake = () => {}
  #closed = false

  constructor(data: Omit<PrepareThreadData, 'thread'>, firstThread: number, count: number) {
    this.#segments = data.host[0]?.memories.length ?? 1
    const entry = builtFile('training/passes/prepare-thread')
    this.#preparers = Array.from({ length: count }, (_, i) => {
      const workerData: PrepareThreadData = { ...data, thread: firstThread + i }
      const preparer: Preparer = { worker: new Worker(entry, { workerData, name: `prepare-${i}` }), task: undefined }
      this.#listen(preparer)
      preparer.worker.unref()
      return preparer
    })
  }

  get count(): number {
    return this.#preparers.length
  }

  /** Every sign of the samples has its row on this side; returns the bytes that were copied out of the host's tables. */
  async collect(side: Side, pieces: readonly Piece[]): Promise<number> {
    const copied = await Promise.all(
      groupPieces(pieces).map((some) => this.#run({ kind: 'collect', side, pieces: some })),
    )
    return copied.reduce((sum, bytes) => sum + bytes, 0)
  }

  /** The host's tables have what was trained on this side, and with `handOver` so has the other side; returns how many rows. */
  async writeBack(side: Side, handOver: boolean): Promise<number> {
    this.#held = true
    try {
      while (this.#preparers.some(({ task }) => task)) await new Promise<void>((resolve) => (this.#wake = resolve))
      const written = await Promise.all(
        this.#preparers.map((preparer, i) => {
          const segments = Array.from({ length: this.#segments }, (_, s) => s).filter((s) => s % this.count === i)
          return this.#post(preparer, { kind: 'writeBack', side, segments, handOver })
        }),
      )
      return written.reduce((sum, rows) => sum + rows, 0)
    } finally {
      this.#held = false
      this.#pump()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#waiting.length = 0
    await Promise.all(this.#preparers.map(({ worker }) => worker.terminate()))
  }

  #run(message: ToPrepareThread): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, resolve, reject })
      this.#pump()
    })
  }

  #pump(): void {
    for (const preparer of this.#preparers) {
      const next = this.#held || preparer.task || this.#closed ? undefined : this.#waiting.shift()
      if (next) this.#give(preparer, next)
    }
  }

  #post(preparer: Preparer, message: ToPrepareThread): Promise<number> {
    return new Promise((resolve, reject) => this.#give(preparer, { message, resolve, reject }))
  }

  #give(preparer: Preparer, task: Task): void {
    preparer.task = task
    preparer.worker.ref()
    preparer.worker.postMessage(task.message)
  }

  #listen(preparer: Preparer): void {
    const done = (settle: (task: Task) => void) => {
      const { task } = preparer
      preparer.task = undefined
      preparer.worker.unref()
      if (task) settle(task)
      this.#wake()
      this.#pump()
    }
    preparer.worker.on('message', (answer: FromPrepareThread) =>
      done(({ resolve, reject }) =>
        answer.kind === 'failed' ? reject(fromPlainError(answer.error)) : resolve(answer.rows),
      ),
    )
    preparer.worker.on('error', (error) => done(({ reject }) => reject(error as Error)))
    preparer.worker.on('exit', () =>
      done(({ reject }) => reject(new Error('internal: a preparation thread has ended'))),
    )
  }
}

function groupPieces(pieces: readonly Piece[]): Piece[][] {
  const groups: Piece[][] = []
  let room = 0
  for (const piece of pieces) {
    if (room <= 0) {
      groups.push([])
      room = SAMPLES_AT_ONCE
    }
    groups.at(-1)!.push(piece)
    room -= piece.to - piece.from
  }
  return groups
}
