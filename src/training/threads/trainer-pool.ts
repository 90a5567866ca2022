/** @file The trainer threads of a process: hands batches to whichever is free, gathers results. */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessagePort, Worker } from 'node:worker_threads'
import { builtFile, fromPlainError, startThread } from '../../base/util/index.ts'
import type { Batch, Piece } from '../../data/index.ts'
import type { Side } from '../passes/index.ts'
import type { Touched } from '../ps/index.ts'
import { type Gate, shutGate } from './gate.ts'
import type {
  FromTrainerThread,
  Groups,
  Histograms,
  Phase,
  ToTrainerThread,
  TrainerThreadSettings,
} from './messages.ts'

export type StepReport = Extract<FromTrainerThread, { kind: 'step' }> & { readonly thread: number }

export interface PhaseEnd {
  readonly histograms: readonly Histograms[]
  readonly groups: readonly Groups[]
  /** Time per part of a step, summed over threads. */
  readonly seconds: Readonly<Record<string, number>>
}

export interface TrainerPoolOptions {
  /** Batches handed to a thread: one runs, one waits; one more where the next is asked for while one runs. @default 2 */
  readonly ahead?: number
  /** Batch k goes to thread k mod threads, and all threads take part in every round: steps are made together. @default false */
  readonly inTurn?: boolean
  /** In training, threads take slices of every batch instead of batches of their own, and make one step together. @default false */
  readonly sliced?: boolean
  /** What threads have to say beside results. */
  readonly onNotice?: (message: string) => void
}

/** How many batches more a thread may have been given when the answer to one comes. */
export const AHEAD = 2

/** Longest wait for steps under way when the pool closes. */
const CLOSE_MS = 5000

interface Trainer {
  readonly worker: Worker
  readonly gate: Gate
  outstanding: number
}

export class TrainerPool {
  /** Sees every step; that of the pass under way. */
  onStep: (report: StepReport) => void = () => {}
  readonly #trainers: Trainer[]
  readonly #ahead: number
  readonly #inTurn: boolean
  readonly #sliced: boolean
  readonly #onNotice: (message: string) => void
  /** Batches handed out in turn. */
  #turn = 0
  #failure: Error | undefined
  #closing = false
  /** Resolves whoever waits for a change: a result or a failure. */
  #wake: () => void = () => {}
  #touched: Touched[] = []
  #moved = 0
  #finished: Extract<FromTrainerThread, { kind: 'finish' }>[] = []

  private constructor(
    trainers: Trainer[],
    { ahead = AHEAD, inTurn = false, sliced = false, onNotice = () => {} }: TrainerPoolOptions,
  ) {
    this.#trainers = trainers
    this.#ahead = ahead
    this.#inTurn = inTurn
    this.#sliced = sliced
    this.#onNotice = onNotice
  }

  /** Starts the threads; resolves when every one of them has compiled its programs. */
  static async open(
    settings: readonly TrainerThreadSettings[],
    options: TrainerPoolOptions = {},
  ): Promise<TrainerPool> {
    const trainers = settings.map((own) => {
      const worker = startThread(builtFile('training/threads/trainer-thread'), own, {
        transferList: portsOf(own.params),
      })
      return { worker, gate: own.gate, outstanding: 1 }
    })
    const pool = new TrainerPool(trainers, options)
    for (const [thread, trainer] of trainers.entries()) pool.#listen(trainer, thread)
    try {
      await pool.#until(() => trainers.every(({ outstanding }) => outstanding === 0))
    } catch (error) {
      await pool.close()
      throw error
    }
    return pool
  }

  /** Hands a batch to the thread with the least to do, or to all in slices; waits while they have enough. */
  async submit(phase: Phase, batch: Batch, report: boolean, stopping = false): Promise<void> {
    if (this.#sliced && phase === 'train') return this.#submitSlices(phase, sliceBatch(batch, this.size), report)
    const candidates = this.#inTurn ? [this.#next()] : this.#trainers
    await this.#until(() => candidates.some(({ outstanding }) => outstanding < this.#ahead))
    const free = candidates.reduce((best, trainer) => (trainer.outstanding < best.outstanding ? trainer : best))
    this.#post(free, { kind: 'step', phase, batch, report, stopping })
  }

  get size(): number {
    return this.#trainers.length
  }

  /** Ends the pool's work from outside: whoever waits for it gets this error. */
  fail(error: Error): void {
    this.#fail(error)
  }

  /** Waits until every batch handed out is done. */
  async drain(): Promise<void> {
    await this.#until(() => this.#trainers.every(({ outstanding }) => outstanding === 0))
  }

  /** Waits for every batch handed out, then collects metrics and times. */
  async finish(phase: Phase, stopping = false): Promise<PhaseEnd> {
    // A round that was begun is ended: the threads without a batch take part without samples.
    while (phase === 'train' && this.#inTurn && this.#turn % this.#trainers.length !== 0)
      this.#post(this.#next(), { kind: 'skip', phase })
    this.#turn = 0
    await this.#until(() => this.#trainers.every(({ outstanding }) => outstanding === 0))
    this.#finished = []
    for (const trainer of this.#trainers) this.#post(trainer, { kind: 'finish', phase, stopping })
    await this.#until(() => this.#trainers.every(({ outstanding }) => outstanding === 0))
    const seconds: Record<string, number> = {}
    for (const end of this.#finished) {
      for (const [part, spent] of Object.entries(end.seconds)) seconds[part] = (seconds[part] ?? 0) + spent
    }
    const [histograms, groups] = [this.#finished.map((end) => end.histograms), this.#finished.map((end) => end.groups)]
    return { histograms, groups, seconds }
  }

  /** Waits until no step is under way, then asks every thread which rows it has trained. */
  async touched(): Promise<readonly Touched[]> {
    await this.#until(() => this.#trainers.every(({ outstanding }) => outstanding === 0))
    this.#touched = []
    for (const trainer of this.#trainers) this.#post(trainer, { kind: 'touched', phase: 'train' })
    await this.#until(() => this.#trainers.every(({ outstanding }) => outstanding === 0))
    return this.#touched
  }

  /** Once every batch is done, all threads take up a pass's rows; returns the bytes that moved. */
  beginPass(side: Side): Promise<number> {
    return this.#movePass({ kind: 'begin', phase: 'train', side })
  }

  /** Once every batch is done, the side that was begun has all that was trained; returns the bytes that moved. */
  endPass(): Promise<number> {
    return this.#movePass({ kind: 'end', phase: 'train' })
  }

  /** While idle, threads need not keep the process alive. */
  unref(): void {
    for (const { worker } of this.#trainers) worker.unref()
  }

  ref(): void {
    for (const { worker } of this.#trainers) worker.ref()
  }

  async close(): Promise<void> {
    this.#closing = true
    // Steps under way finish first, unless they wait for somebody who does not answer.
    const until = performance.now() + CLOSE_MS
    while (this.#trainers.some(({ outstanding }) => outstanding > 0) && performance.now() < until) await sleep(5)
    await Promise.all(this.#trainers.map(({ gate }) => shutGate(gate)))
    await Promise.all(this.#trainers.map(({ worker }) => worker.terminate()))
  }

  async #movePass(message: ToTrainerThread): Promise<number> {
    await this.drain()
    this.#moved = 0
    for (const trainer of this.#trainers) this.#post(trainer, message)
    await this.drain()
    return this.#moved
  }

  /** Hands slice i to thread i, when each of these has room: they wait for each other in the step. */
  async #submitSlices(phase: Phase, slices: readonly Batch[], report: boolean): Promise<void> {
    const trainers = this.#trainers.slice(0, slices.length)
    await this.#until(() => trainers.every(({ outstanding }) => outstanding < this.#ahead))
    for (const [i, trainer] of trainers.entries())
      this.#post(trainer, { kind: 'step', phase, batch: slices[i]!, report })
  }

  #next(): Trainer {
    return this.#trainers[this.#turn++ % this.#trainers.length]!
  }

  #post(trainer: Trainer, message: ToTrainerThread): void {
    trainer.outstanding++
    trainer.worker.postMessage(message)
  }

  #listen(trainer: Trainer, thread: number): void {
    trainer.worker.on('message', (message: FromTrainerThread) => {
      if (message.kind === 'error') {
        trainer.outstanding = 0 // it takes no further step
        return this.#fail(fromPlainError(message.error))
      }
      if (message.kind === 'notice') return this.#onNotice(message.message)
      trainer.outstanding--
      if (message.kind === 'touched') this.#touched.push(message.touched)
      if (message.kind === 'moved') this.#moved += message.moved.bytes
      if (message.kind === 'finish') this.#finished.push(message)
      if (message.kind === 'step') this.onStep({ ...message, thread })
      this.#wake()
    })
    trainer.worker.on('error', (error) => this.#fail(error as Error))
    trainer.worker.on('exit', (code) => {
      if (!this.#closing) this.#fail(new Error(`internal: trainer thread ${thread} ended with code ${code}`))
    })
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#wake()
  }

  /** Waits for a condition on the threads; a thread that fails or dies ends the wait. */
  async #until(condition: () => boolean): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure
      if (condition()) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

function portsOf(params: TrainerThreadSettings['params']): MessagePort[] {
  if (params.kind === 'local' || params.kind === 'pass') return []
  if (params.kind === 'parallel') return [params.group.port]
  if (params.kind === 'hybrid') return [params.rows.port, params.dense.group.port]
  return [params.kind === 'geo' ? params.remote.port : params.port]
}

/** Slices of nearly equal size, in order; one when there are not enough samples for all. */
export function sliceBatch(batch: Batch, threads: number): Batch[] {
  const slices = batch.size < threads ? 1 : threads
  return Array.from({ length: slices }, (_, i) => {
    const [from, to] = [Math.floor((batch.size * i) / slices), Math.floor((batch.size * (i + 1)) / slices)]
    const slice = { count: slices, share: (to - from) / batch.size }
    return { ...batch, slice, size: to - from, pieces: cutPieces(batch.pieces, from, to) }
  })
}

/** Samples [from, to) of what the pieces hold one after another. */
function cutPieces(pieces: readonly Piece[], from: number, to: number): Piece[] {
  let before = 0
  return pieces.flatMap((piece) => {
    const start = Math.max(from - before, 0)
    const end = Math.min(to - before, piece.to - piece.from)
    before += piece.to - piece.from
    return start < end ? [{ ...piece, from: piece.from + start, to: piece.from + end }] : []
  })
}
