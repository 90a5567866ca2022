/** @file A barrier of the ranks of one host, in shared memory, with signs of life and room for the reason why a rank stops. */
import { readlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { readJson, readPlainError } from '../../../base/net/index.ts'
import { fromPlainError, toPlainError } from '../../../base/util/index.ts'
import { ordersDiffer, rankLost, rankStopped } from '../errors.ts'
import { type Futex, openFutex } from './futex.ts'

// The head: int32 words. Then one line for each rank.
const [ARRIVED, ROUND, STOPPED_BY] = [0, 1, 2]
const HEAD_BYTES = 64
const LINE_BYTES = 4096
/**
 * Words of a line: sign of life, process, its namespace, what the rank is at (twice five words, since a rank may be one call ahead
 * of one that has not looked yet); the reason's bytes behind them.
 */
const [LIFE, PROCESS, NAMESPACE, AT] = [0, 1, 2, 3]
const AT_WORDS = 5
const REASON_AT = 64

const LOOK_MS = 100
/**
 * Ranks that do equal work come within a moment of each other. A rank that lets others run meanwhile is itself back late, and the others
 * wait for it at the next barrier: so first it only looks.
 */
const LOOKS = 100
const LOOK_ONLY_MS = 0.2
/** Some 5 milliseconds: waking up, on a virtual machine above all, costs more than to look that long. */
const PASSES = 5000

export function barrierBytes(size: number): number {
  return HEAD_BYTES + size * LINE_BYTES
}

export interface BarrierOptions {
  readonly memory: ArrayBuffer
  readonly rank: number
  readonly size: number
  readonly nameOf: (rank: number) => string
  /** Silence after which a rank counts as gone. */
  readonly deadAfterMs: number
  readonly isStopping: () => boolean
  /** How far this rank is in the order of calls, for all its threads: they take turns. */
  readonly progress: Progress
}

/** Words that the threads of a rank share: calls begun, which of the rank's two notes is the newer, which area was used last. */
export type Progress = Int32Array<SharedArrayBuffer>
export const [BEGUN, NOTE, AREA] = [0, 1, 2]

export function newProgress(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * 3)
}

export class SharedBarrier {
  readonly #options: BarrierOptions
  readonly #head: Int32Array
  readonly #lines: readonly Int32Array[]
  readonly #futex: Futex
  /** Where there is a core for every rank, a moment's wait is not worth a sleep. */
  readonly #passes: number
  readonly #lives: { seen: number; at: number }[]
  #during = ''
  #failure: Error | undefined

  constructor(options: BarrierOptions) {
    const { memory, rank, size } = options
    this.#options = options
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / 4)
    this.#lines = Array.from({ length: size }, (_, i) => {
      return new Int32Array(memory, HEAD_BYTES + i * LINE_BYTES, LINE_BYTES / 4)
    })
    this.#futex = openFutex()
    this.#passes = size <= availableParallelism() ? PASSES : 0
    this.#lives = this.#lines.map(() => ({ seen: 0, at: performance.now() }))
    const own = this.#lines[rank]!
    own[PROCESS] = process.pid
    own[NAMESPACE] = processNamespace()
  }

  /** A call begins: what this rank is at, in numbers that must be those of all others, and in words. */
  begin(at: readonly number[], during: string): void {
    if (this.#failure) throw this.#failure
    this.#during = during
    const { progress, rank } = this.#options
    progress[NOTE] = 1 - progress[NOTE]!
    this.#lines[rank]!.set(at, this.#noteAt)
  }

  /** After the first barrier of a call: every rank is at the same. */
  check(text: (at: readonly number[]) => string): void {
    const note = this.#noteAt
    const at = (line: Int32Array) => [...line.subarray(note, note + AT_WORDS)]
    const { rank, nameOf } = this.#options
    const own = at(this.#lines[rank]!)
    const other = this.#lines.findIndex((line) => at(line).some((word, i) => word !== own[i]))
    if (other < 0) return
    this.#failure = ordersDiffer(nameOf(other), text(at(this.#lines[other]!)), nameOf(rank), text(own))
    throw this.#failure
  }

  /** Returns when every rank is here. What a rank wrote before is seen by all after. */
  wait(): void {
    const round = Atomics.load(this.#head, ROUND)
    if (Atomics.add(this.#head, ARRIVED, 1) === this.#options.size - 1) {
      Atomics.store(this.#head, ARRIVED, 0)
      Atomics.add(this.#head, ROUND, 1)
      this.#futex.wake(this.#head.subarray(ROUND, ROUND + 1))
      return
    }
    if (this.#comesSoon(round)) return
    let looked = performance.now()
    while (Atomics.load(this.#head, ROUND) === round) {
      this.#futex.wait(this.#head.subarray(ROUND, ROUND + 1), round, LOOK_MS)
      const now = performance.now()
      if (now - looked < LOOK_MS && Atomics.load(this.#head, STOPPED_BY) === 0) continue
      looked = now
      this.beat()
      if (Atomics.load(this.#head, ROUND) === round) this.#checkOthers(now)
      if (this.#options.isStopping()) this.#fail(new Error('this rank is stopping'))
    }
  }

  #comesSoon(round: number): boolean {
    const began = performance.now()
    for (let i = 0; i < this.#passes; i++) {
      for (let j = 0; j < LOOKS; j++) if (Atomics.load(this.#head, ROUND) !== round) return true
      // Ranks may share a processor: then the other one comes only when this one lets it.
      if (performance.now() - began > LOOK_ONLY_MS) this.#futex.pass()
    }
    return false
  }

  get #noteAt(): number {
    return AT + AT_WORDS * this.#options.progress[NOTE]!
  }

  /** Shows the others that this rank lives. */
  beat(): void {
    Atomics.add(this.#lines[this.#options.rank]!, LIFE, 1)
  }

  /** Leaves the reason why this rank stops where all others see it. */
  stop(reason: Error): void {
    const { memory, rank } = this.#options
    const text = Buffer.from(JSON.stringify(toPlainError(reason)))
    const room = new Uint8Array(memory, HEAD_BYTES + rank * LINE_BYTES + REASON_AT, LINE_BYTES - REASON_AT - 1)
    if (text.length <= room.length) room.set(text)
    Atomics.compareExchange(this.#head, STOPPED_BY, 0, rank + 1)
    this.#futex.wake(this.#head.subarray(ROUND, ROUND + 1))
  }

  /** Throws when another rank has stopped or is gone. */
  #checkOthers(now: number): void {
    const { rank, nameOf, deadAfterMs } = this.#options
    const stopped = Atomics.load(this.#head, STOPPED_BY) - 1
    if (stopped >= 0 && stopped !== rank) this.#fail(rankStopped(nameOf(stopped), this.#reasonOf(stopped)))
    for (const [other, line] of this.#lines.entries()) {
      if (other === rank) continue
      const life = this.#lives[other]!
      const seen = Atomics.load(line, LIFE)
      if (seen !== life.seen) Object.assign(life, { seen, at: now })
      if (isGone(line)) this.#fail(rankLost(nameOf(other), 'its process has ended', this.#during))
      if (now - life.at > deadAfterMs) {
        const silence = `no sign of life for ${Math.round(now - life.at)} ms, runner.silence_limit allows ${deadAfterMs}`
        this.#fail(rankLost(nameOf(other), silence, this.#during))
      }
    }
  }

  #reasonOf(rank: number): Error {
    const at = HEAD_BYTES + rank * LINE_BYTES + REASON_AT
    const bytes = Buffer.from(this.#options.memory, at, LINE_BYTES - REASON_AT)
    const text = bytes.toString('utf8', 0, bytes.indexOf(0))
    return text
      ? fromPlainError(readJson(Buffer.from(text), 'a reason', readPlainError))
      : new Error('for a reason that is in its log')
  }

  #fail(error: Error): never {
    this.#failure = error
    throw error
  }
}

/** Known only of processes whose numbers mean the same here. */
function isGone(line: Int32Array): boolean {
  if (line[NAMESPACE] === 0 || line[NAMESPACE] !== processNamespace()) return false
  try {
    process.kill(line[PROCESS]!, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** A number for the namespace of process numbers; 0 where the system has none to read. */
function processNamespace(): number {
  try {
    return Number(/\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]) | 0
  } catch {
    return 0
  }
}
