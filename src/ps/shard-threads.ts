/** @file The further threads of a server, each with its own port: opened, told of, and ended by the first. */
import { rmSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { EventSink } from '../event/index.ts'
import type { KernelStore } from './kernel-store.ts'
import type { FromShard, ShardSettings, ToShard } from './shard-thread.ts'
import type { UpdateMemory } from './update-log.ts'

/** Where a thread of a server is reached: over TCP, and on its own host. */
export interface Lane {
  readonly endpoint: string
  readonly path?: string
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

interface State {
  closing: boolean
  /** Called by each thread that has taken other memory. */
  attached: () => void
  /** What threads were asked for, by number. */
  readonly asked: Map<number, (memory: UpdateMemory) => void>
  count: number
}

export class ShardThreads {
  readonly lanes: readonly Lane[]
  readonly #workers: readonly Worker[]
  readonly #state: State

  private constructor(lanes: readonly Lane[], workers: readonly Worker[], state: State) {
    this.lanes = lanes
    this.#workers = workers
    this.#state = state
  }

  static async open(options: ShardThreadsOptions): Promise<ShardThreads> {
    const { store, count, emit, onFailure, ...shared } = options
    const state: State = { closing: false, attached: () => {}, asked: new Map(), count: 0 }
    const entry = new URL('../../dist/ps/shard-thread.js', import.meta.url)
    const opened = Array.from({ length: count }, (_, i) => {
      const settings: ShardSettings = { ...shared, store: store.attached, thread: i + 1 }
      const worker = new Worker(entry, { workerData: settings })
      const lane = new Promise<Lane>((resolve, reject) => {
        worker.on('message', (message: FromShard) => {
          if (message.kind === 'open') resolve(message.lane)
          else if (message.kind === 'attached') state.attached()
          else if (message.kind === 'remembered') {
            state.asked.get(message.asked)?.(message.memory)
            state.asked.delete(message.asked)
          } else emit({ kind: 'warning', message: message.message })
        })
        worker.on('error', (error) => {
          reject(error)
          if (!state.closing) onFailure(error as Error)
        })
      })
      return { worker, lane }
    })
    const lanes = await Promise.all(opened.map(({ lane }) => lane))
    return new ShardThreads(
      lanes,
      opened.map(({ worker }) => worker),
      state,
    )
  }

  /** The store has other memory now; resolves when every thread works on it. */
  async attach(store: KernelStore): Promise<void> {
    let left = this.#workers.length
    await new Promise<void>((resolve) => {
      this.#state.attached = () => {
        if (--left === 0) resolve()
      }
      for (const worker of this.#workers)
        worker.postMessage({ kind: 'attach', store: store.attached } satisfies ToShard)
    })
  }

  /** What each thread remembers of a row's updates. */
  memoriesOf(table: number, sign: bigint): Promise<readonly UpdateMemory[]> {
    return Promise.all(
      this.#workers.map(
        (worker) =>
          new Promise<UpdateMemory>((resolve) => {
            const asked = this.#state.count++
            this.#state.asked.set(asked, resolve)
            worker.postMessage({ kind: 'remember', asked, table, sign } satisfies ToShard)
          }),
      ),
    )
  }

  async close(): Promise<void> {
    this.#state.closing = true
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
    // A thread that is ended leaves the names of its sockets behind.
    for (const { path } of this.lanes) if (path) rmSync(path, { force: true })
  }
}
