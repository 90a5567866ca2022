/** @file The further threads of a server, each with its own port: opened, announced and ended by the first. */
import { rmSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import type { EventSink } from '../../base/event/index.ts'
import { builtFile, startThread } from '../../base/util/index.ts'
import type { HotTable } from './hot-rows.ts'
import type { KernelStore } from './kernel-store.ts'
import type { FromShard, ShardSettings, ToShard } from './shard-thread.ts'
import type { UpdateMemory } from './update-log.ts'

/** Where a thread of a server is reached: over TCP, and on its own host. */
export interface Lane {
  readonly endpoint: string
  readonly path?: string | undefined
}

/** Fact of a server's hello: its further lanes, as JSON. */
export const LANES = 'lanes'

export interface ShardThreadsOptions extends Omit<ShardSettings, 'store' | 'thread'> {
  readonly store: KernelStore
  /** Threads beside the first. */
  readonly count: number
  readonly emit: EventSink
  readonly onFailure: (error: Error) => void
}

type Answer = Extract<FromShard, { readonly asked: number }>
type Asked = Extract<ToShard, { readonly asked: number }>
type Question = Asked extends infer A ? (A extends Asked ? Omit<A, 'asked'> : never) : never

export class ShardThreads {
  lanes: readonly Lane[] = []
  readonly #workers: Worker[] = []
  #closing = false
  /** Called by each thread that has taken other memory. */
  #attached: () => void = () => {}
  /** What threads were asked for, by number. */
  readonly #asked = new Map<number, (answer: Answer) => void>()
  #count = 0

  static async open({ count, store, ...shared }: ShardThreadsOptions): Promise<ShardThreads> {
    const threads = new ShardThreads()
    threads.lanes = await Promise.all(
      Array.from({ length: count }, (_, i) => threads.#start({ ...shared, store: store.attached, thread: i + 1 })),
    )
    return threads
  }

  #start({ emit, onFailure, ...settings }: ShardSettings & Pick<ShardThreadsOptions, 'emit' | 'onFailure'>) {
    const worker = startThread(builtFile('training/ps/shard-thread'), settings)
    this.#workers.push(worker)
    return new Promise<Lane>((resolve, reject) => {
      worker.on('message', (message: FromShard) => {
        if (message.kind === 'open') resolve(message.lane)
        else if (message.kind === 'attached') this.#attached()
        else if (message.kind === 'warning') emit(message)
        else {
          this.#asked.get(message.asked)?.(message)
          this.#asked.delete(message.asked)
        }
      })
      worker.on('error', (error) => {
        reject(error)
        if (!this.#closing) onFailure(error as Error)
      })
    })
  }

  /** The store has other memory now; resolves when every thread works on it. */
  async attach(store: KernelStore): Promise<void> {
    let left = this.#workers.length
    await new Promise<void>((resolve) => {
      this.#attached = () => {
        if (--left === 0) resolve()
      }
      for (const worker of this.#workers)
        worker.postMessage({ kind: 'attach', store: store.attached } satisfies ToShard)
    })
  }

  /** What each thread remembers of a row's updates. */
  async memoriesOf(table: number, sign: bigint): Promise<readonly UpdateMemory[]> {
    const answers = await this.#askAll({ kind: 'remember', table, sign })
    return answers.flatMap((answer) => (answer.kind === 'remembered' ? [answer.memory] : []))
  }

  /** What each thread has seen pulled of a table. */
  async hotOf(table: number, most: number): Promise<readonly HotTable[]> {
    const answers = await this.#askAll({ kind: 'hot', table, most })
    return answers.flatMap((answer) => (answer.kind === 'hottest' ? [answer.hot] : []))
  }

  /** A thread answers a push before its rows are in the tables: resolves when those of all that were answered are. */
  async settle(): Promise<void> {
    await this.#askAll({ kind: 'settle' })
  }

  #askAll(question: Question): Promise<readonly Answer[]> {
    const ask = (worker: Worker) =>
      new Promise<Answer>((resolve) => {
        const asked = this.#count++
        this.#asked.set(asked, resolve)
        worker.postMessage({ ...question, asked } satisfies ToShard)
      })
    return Promise.all(this.#workers.map(ask))
  }

  async close(): Promise<void> {
    this.#closing = true
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
    // A thread that is ended leaves the names of its sockets behind.
    for (const { path } of this.lanes) if (path) rmSync(path, { force: true })
  }
}
