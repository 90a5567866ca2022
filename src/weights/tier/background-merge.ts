/** @file A merge in a thread of its own: begun, asked after, or waited for. */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { builtFile, fromPlainError } from '../../base/util/index.ts'
import type { FromMergeThread, MergeThreadData, ToMergeThread } from './merge-thread.ts'
import type { RunKind, RunMark } from './run-format.ts'

/** What these threads make lives for one message: without it their heaps grow by tens of megabytes that no limit counts. */
export const SMALL = { maxYoungGenerationSizeMb: 4 }

export class BackgroundMerge {
  readonly #kind: RunKind
  readonly #answered = new Int32Array(new SharedArrayBuffer(4))
  #thread: { readonly worker: Worker; readonly port: MessagePort } | undefined
  #isUnderWay = false

  constructor(kind: RunKind) {
    this.#kind = kind
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  begin(work: ToMergeThread): void {
    this.#isUnderWay = true
    Atomics.store(this.#answered, 0, 0)
    this.#open().postMessage(work)
  }

  /** The merged run, once: undefined while it is being made. With `wait` this thread stands still until then. */
  result(wait: boolean): RunMark | undefined {
    if (wait) Atomics.wait(this.#answered, 0, 0)
    if (!this.#isUnderWay || Atomics.load(this.#answered, 0) === 0) return undefined
    this.#isUnderWay = false
    const answer = receiveMessageOnPort(this.#thread!.port)!.message as FromMergeThread
    if ('mark' in answer) return answer.mark
    throw Object.assign(fromPlainError(answer.error), { code: answer.error.user?.code ?? answer.error.systemCode })
  }

  async close(): Promise<void> {
    await this.#thread?.worker.terminate()
    this.#thread = undefined
  }

  #open(): MessagePort {
    if (this.#thread) return this.#thread.port
    const { port1, port2 } = new MessageChannel()
    const workerData: MergeThreadData = { port: port2, answered: this.#answered, kind: this.#kind }
    // Options of the process are not for it: with those of `node -e` no thread begins, and this one would wait for it.
    const options = { workerData, transferList: [port2], execArgv: [], resourceLimits: SMALL }
    const worker = new Worker(builtFile('weights/tier/merge-thread'), options)
    worker.unref()
    port1.unref()
    this.#thread = { worker, port: port1 }
    return port1
  }
}
