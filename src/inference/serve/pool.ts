/** @file The threads that score with one model. A newer model gets threads of its own, so that this one goes on until they are ready. */
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import type { Device } from '../../base/device/index.ts'
import { builtFile, fromPlainError } from '../../base/util/index.ts'
import { errorResponse } from './errors.ts'
import type { LoadedModel, ScoreRequest, ScoreResponse, ScorerMessage, ScorerSettings, ScorerTask } from './messages.ts'

export interface PoolOptions {
  /** What the first thread reads, and the others share. */
  readonly model: ScorerSettings['model']
  readonly threads: number
  readonly fillMissing: boolean
  readonly device: Device
  readonly reader?: ScorerSettings['reader']
  /** Called with the error of a thread that ended by itself; another one takes its place. */
  readonly onLost: (error: Error) => void
}

/** Batches handed to a thread ahead: one is scored, one waits. */
const AHEAD = 2
const CLOSE_MS = 10 * 1000

interface Scoring {
  readonly batch: number
  readonly requests: number
  readonly resolve: (responses: readonly ScoreResponse[]) => void
}

interface Thread {
  readonly worker: Worker
  readonly scoring: Scoring[]
  /** A model that it is loading, in place of the one it has. */
  loading?: { readonly resolve: (loaded: LoadedModel) => void; readonly reject: (error: Error) => void } | undefined
}

export class ScorerPool {
  readonly #options: PoolOptions
  readonly #threads: Thread[] = []
  #loaded: LoadedModel | undefined
  #batches = 0
  #closing = false
  #idle: () => void = () => {}

  private constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Reads the model on a thread, then starts the others with it; resolves when all can score. */
  static async open(options: PoolOptions): Promise<ScorerPool> {
    const pool = new ScorerPool(options)
    try {
      pool.#loaded = await pool.#start(options.model)
      const { loaded } = pool
      await Promise.all(Array.from({ length: options.threads - 1 }, () => pool.#start({ kind: 'loaded', loaded })))
      return pool
    } catch (error) {
      await pool.close()
      throw error
    }
  }

  /** Another model in place of the one it has, on the same threads. What is asked meanwhile waits, so it is for a pool that nobody asks. */
  async reload(model: ScorerSettings['model']): Promise<LoadedModel> {
    const [first, ...others] = this.#threads as [Thread, ...Thread[]]
    const loaded = await this.#loadOn(first, model)
    await Promise.all(others.map((thread) => this.#loadOn(thread, { kind: 'loaded', loaded })))
    this.#loaded = loaded
    return loaded
  }

  #loadOn(thread: Thread, model: ScorerSettings['model']): Promise<LoadedModel> {
    return new Promise((resolve, reject) => {
      thread.loading = { resolve, reject }
      thread.worker.postMessage({ kind: 'load', model } satisfies ScorerTask)
    })
  }

  get loaded(): LoadedModel {
    return this.#loaded!
  }

  /** Whether a batch handed over now would wait behind no more than one other. */
  get free(): boolean {
    return this.#threads.some(({ scoring }) => scoring.length < AHEAD)
  }

  /** Responses in the order of the requests; it never rejects. */
  score(requests: readonly ScoreRequest[]): Promise<readonly ScoreResponse[]> {
    const thread = this.#threads.reduce((best, other) => (other.scoring.length < best.scoring.length ? other : best))
    return new Promise((resolve) => {
      const batch = this.#batches++
      thread.scoring.push({ batch, requests: requests.length, resolve })
      thread.worker.postMessage({ kind: 'score', batch, requests } satisfies ScorerTask)
    })
  }

  /** Ends the threads once they have answered everything, or after CLOSE_MS. */
  async close(): Promise<void> {
    const busy = () => this.#threads.some(({ scoring }) => scoring.length > 0)
    const deadline = performance.now() + CLOSE_MS
    while (busy() && performance.now() < deadline) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - performance.now())
        this.#idle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#closing = true
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()))
  }

  async #start(model: ScorerSettings['model']): Promise<LoadedModel> {
    const { fillMissing, device, reader } = this.#options
    const workerData: ScorerSettings = { model, fillMissing, device, reader }
    const worker = new Worker(builtFile('inference/serve/thread'), { workerData })
    const thread: Thread = { worker, scoring: [] }
    return new Promise((resolve, reject) => {
      let ready = false
      worker.on('message', (message: ScorerMessage) => {
        const { loading } = thread
        if (loading && message.kind !== 'scored') {
          thread.loading = undefined
          if (message.kind === 'failed') loading.reject(fromPlainError(message.error))
          else loading.resolve(message.loaded)
        } else if (message.kind === 'failed') reject(fromPlainError(message.error))
        else if (message.kind === 'scored') this.#answer(thread, message.batch, message.responses)
        else {
          ready = true
          this.#threads.push(thread)
          resolve(message.loaded)
        }
      })
      let failure = new Error('internal: a scoring thread ended')
      worker.on('error', (error) => {
        failure = error as Error
      })
      worker.on('exit', () => {
        thread.loading?.reject(failure)
        if (this.#closing) return
        if (ready) this.#replace(thread, failure)
        else reject(failure)
      })
    })
  }

  #answer(thread: Thread, batch: number, responses: readonly ScoreResponse[]): void {
    const at = thread.scoring.findIndex((item) => item.batch === batch)
    const [scored] = thread.scoring.splice(at, 1)
    scored!.resolve(responses)
    this.#idle()
  }

  /** What a lost thread was scoring is answered with 500; another thread takes its place. */
  #replace(thread: Thread, error: Error): void {
    this.#options.onLost(error)
    this.#threads.splice(this.#threads.indexOf(thread), 1)
    void this.#start({ kind: 'loaded', loaded: this.loaded })
      .catch(this.#options.onLost)
      .finally(() => {
        for (const { requests, resolve } of thread.scoring.splice(0))
          resolve(Array.from({ length: requests }, () => ({ ...errorResponse(error), samples: 0 })))
        this.#idle()
      })
  }
}
