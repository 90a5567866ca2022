/** @file A search in a thread of its own: asked for and answered later, in the order in which it was asked, or waited for. */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { builtFile, fromPlainError } from '../../base/util/index.ts'
import { SMALL } from './background-merge.ts'
import type { StoredRun } from './merge.ts'
import type { RunKind } from './run-format.ts'
import type { OnFound, Search, SearchStats } from './run-search.ts'
import {
  FINDS,
  type FromSearchThread,
  type SearchThreadData,
  type SharedSearch,
  type ToSearchThread,
  USES,
} from './search-messages.ts'

/** Who waits for an answer. The rows of several may come with the first of them. */
export interface Asker {
  readonly found: OnFound
  /** Its rows are there. */
  readonly done: (error?: Error) => void
}

export class BackgroundSearch implements Search {
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #shared: SharedSearch
  readonly #rowBytes: number
  readonly #askers: Asker[] = []
  readonly #spares: ArrayBuffer[] = []
  #sent = { finds: 0, uses: 0 }

  constructor({ table, layout, rowBytes }: RunKind, pagesAtOnce: number) {
    const { port1, port2 } = new MessageChannel()
    this.#rowBytes = rowBytes
    this.#shared = {
      done: new Int32Array(new SharedArrayBuffer(8)),
      stats: new Float64Array(new SharedArrayBuffer(48)),
    }
    const kind = { table, layout, rowBytes }
    const workerData: SearchThreadData = { port: port2, shared: this.#shared, kind, pagesAtOnce }
    // Options of the process are not for it: with those of `node -e` no thread begins, and this one would wait for it.
    const options = { workerData, transferList: [port2], execArgv: [], resourceLimits: SMALL }
    this.#worker = new Worker(builtFile('weights/tier/search-thread'), options)
    this.#worker.on('error', (error) => this.#fail(error as Error))
    this.#worker.unref()
    this.#port = port1
    port1.on('message', (answer: FromSearchThread) => this.#take(answer))
    port1.unref()
  }

  get stats(): SearchStats {
    const [memoryBytes, pagesRead, falsePages, readBytes, readSeconds, isDirect] = this.#shared.stats
    return {
      memoryBytes: memoryBytes!,
      pagesRead: pagesRead!,
      falsePages: falsePages!,
      readBytes: readBytes!,
      readSeconds: readSeconds!,
      isDirect: isDirect !== 0,
    }
  }

  use(runs: readonly StoredRun[]): void {
    this.#sent.uses++
    this.#send({ kind: 'use', runs: runs.map(({ path, mark }) => ({ path, mark })) }, [])
  }

  ask(signs: BigUint64Array, asker: Asker): void {
    this.#askers.push(asker)
    this.#sent.finds++
    const spare = this.#spares.pop()
    this.#send({ kind: 'find', signs, spare }, spare ? [spare] : [])
  }

  find(signs: BigUint64Array, found: OnFound): number {
    this.finish()
    let count = 0
    let failure: Error | undefined
    this.ask(signs, {
      found: (some, rows) => {
        count += some.length
        found(some, rows)
      },
      done: (error) => {
        failure = error
      },
    })
    this.finish()
    if (failure) throw failure
    return count
  }

  /** Waits until all that was asked for is answered. */
  finish(): void {
    this.#wait(FINDS, this.#sent.finds)
    while (this.#askers.length > 0) {
      const answer = receiveMessageOnPort(this.#port)?.message as FromSearchThread | undefined
      if (!answer) return
      this.#take(answer)
    }
  }

  settle(): void {
    this.#wait(USES, this.#sent.uses)
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
    this.#fail(new Error('internal: the search was closed'))
  }

  #wait(which: number, count: number): void {
    const { done } = this.#shared
    for (let had = Atomics.load(done, which); had < count; had = Atomics.load(done, which))
      Atomics.wait(done, which, had)
  }

  #send(message: ToSearchThread, transfer: ArrayBuffer[]): void {
    this.#port.postMessage(message, transfer)
  }

  #take(answer: FromSearchThread): void {
    const askers = this.#askers.splice(0, answer.finds)
    const failed = 'error' in answer ? fromPlainError(answer.error) : undefined
    if ('blocks' in answer) {
      for (const { buffer, count } of answer.blocks) {
        const rows = new Uint8Array(buffer, 8 * count, this.#rowBytes * count)
        askers[0]!.found(new BigUint64Array(buffer, 0, count), rows)
        this.#spares.push(buffer)
      }
    }
    for (const { done } of askers) done(failed)
  }

  #fail(error: Error): void {
    for (const { done } of this.#askers.splice(0)) done(error)
  }
}
