/** @file Batches that are read before they are wanted, so that what each of them needs can be asked for meanwhile. */
import type { Batch } from '../../data/index.ts'

/** Batches that wait with their rows asked for, beside those that a thread has. */
const AHEAD = 8

export interface BatchNeeds {
  /** Asks for what a batch needs; false while there is no room for it. */
  ask(batch: Batch): boolean
  /** Resolves when all that was asked for by now is there. */
  arrived(): Promise<void>
  /** Whether as much as is good was asked for. */
  isEnough(): boolean
}

interface Waiting {
  readonly batch: Batch
  /** Undefined: not asked for yet. */
  ready: Promise<void> | undefined
}

/** The batches of a pass, in their order. */
export class BatchesAhead implements AsyncIterator<Batch> {
  readonly #source: AsyncIterator<Batch>
  readonly #needs: BatchNeeds
  readonly #queue: Waiting[] = []
  #ended = false
  #failure: { readonly error: unknown } | undefined
  /** Whether batches are asked for: not while the pass pauses. */
  #isOn = false
  #isBusy = false
  /** Something changed: a batch came, one was done, one was handed out. */
  #wake: (() => void)[] = []

  constructor(source: AsyncIterator<Batch>, needs: BatchNeeds) {
    this.#source = source
    this.#needs = needs
  }

  async next(): Promise<IteratorResult<Batch>> {
    this.#isOn = true
    for (;;) {
      void this.#work()
      const [first] = this.#queue
      if (first?.ready !== undefined) {
        await first.ready
        this.#queue.shift()
        void this.#work()
        return { done: false, value: first.batch }
      }
      if (this.#failure) throw this.#failure.error
      if (!first && this.#ended) return { done: true, value: undefined }
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.pause()
    this.#ended = true
    this.#queue.length = 0
    return (await this.#source.return?.()) ?? { done: true, value: undefined }
  }

  /** What was asked for is given up, and asked for again when the pass goes on. */
  pause(): void {
    this.#isOn = false
    for (const waiting of this.#queue) waiting.ready = undefined
  }

  /** A batch is done: there may be room for another. */
  changed(): void {
    void this.#work()
  }

  /** Asks for batches until enough are. */
  async #work(): Promise<void> {
    if (this.#isBusy || this.#failure) return
    this.#isBusy = true
    try {
      while (this.#isOn && (this.#askNext() || (await this.#readNext())));
    } catch (error) {
      this.#failure = { error }
    } finally {
      this.#isBusy = false
      this.#tell()
    }
  }

  /** Whether another one was asked for. */
  #askNext(): boolean {
    const next = this.#queue.find(({ ready }) => !ready)
    if (!next || (next !== this.#queue[0] && this.#needs.isEnough()) || !this.#needs.ask(next.batch)) return false
    next.ready = this.#needs.arrived()
    next.ready.catch(() => undefined) // thrown to whoever waits for the batch
    this.#tell()
    return true
  }

  /** Whether another one was read. */
  async #readNext(): Promise<boolean> {
    if (this.#ended || this.#queue.length >= AHEAD || this.#queue.some(({ ready }) => !ready)) return false
    const read = await this.#source.next()
    if (read.done) this.#ended = true
    else if (!this.#ended) this.#queue.push({ batch: read.value, ready: undefined })
    return !read.done
  }

  #tell(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}
