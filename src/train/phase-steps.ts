/** @file One phase in a trainer thread: steps in order, the next batch prepared while one is computed where that is allowed. */

import type { PreparedStep, Step, StepSeconds } from './host-step.ts'
import type { FromThread, ToThread } from './messages.ts'
import type { ThreadParams } from './thread-params.ts'

type StepMessage = Extract<ToThread, { kind: 'step' }>

export class PhaseSteps<Prepared extends { readonly pulled: void | Promise<void> } = PreparedStep> {
  /** As many as batches may be prepared at once; each has buffers of its own. */
  readonly #steps: readonly Step<Prepared>[]
  readonly #params: ThreadParams
  readonly #prepared: { message: StepMessage; step: Step<Prepared>; prepared: Prepared }[] = []
  #turn = 0

  constructor(steps: readonly Step<Prepared>[], params: ThreadParams) {
    this.#steps = steps
    this.#params = params
  }

  async answer(message: ToThread, peek: () => ToThread | undefined): Promise<FromThread> {
    if (message.kind === 'finish') return this.#finish(message.stopping ?? false)
    if (message.kind === 'touched') return { kind: 'touched', touched: this.#params.touched() }
    if (message.kind === 'skip') {
      await this.#params.skip()
      return { kind: 'skip' }
    }
    if (message.stopping) this.#params.announce?.()
    if (this.#prepared.length === 0) this.#prepare(message)
    const { step, prepared } = this.#prepared[0]!
    await prepared.pulled
    const next = this.#prepared.length < this.#steps.length ? peek() : undefined
    if (next?.kind === 'step' && next.phase === message.phase) this.#prepare(next)
    const result = await step.complete(prepared)
    this.#prepared.shift()
    const { phase, batch, report } = message
    const { index, size, slice, fraction } = batch
    const histograms = report && { histograms: this.#histograms() }
    return {
      kind: 'step',
      phase,
      index,
      size,
      fraction,
      result,
      ...(slice && { slices: slice.count }),
      ...histograms,
      ...(this.#params.stopping?.() && { stopping: true }),
    }
  }

  #prepare(message: StepMessage): void {
    const step = this.#steps[this.#turn++ % this.#steps.length]!
    const prepared = step.prepare(message.batch)
    // Thrown by whoever waits for it; until then it must not end the thread.
    if (prepared.pulled instanceof Promise) prepared.pulled.catch(() => undefined)
    this.#prepared.push({ message, step, prepared })
  }

  async #finish(stopping: boolean): Promise<FromThread> {
    await this.#params.params.flush()
    await this.#params.drain?.(stopping)
    const histograms = this.#histograms()
    const seconds = this.#params.breakdown(sumSeconds(this.#steps))
    for (const step of this.#steps) step.reset()
    return { kind: 'finish', histograms, seconds }
  }

  #histograms(): Record<string, Uint32Array> {
    const [first, ...others] = this.#steps.map((step) => step.histograms())
    for (const other of others) {
      for (const [name, counts] of Object.entries(other))
        for (let i = 0; i < counts.length; i++) first![name]![i]! += counts[i]!
    }
    return first!
  }
}

function sumSeconds(steps: readonly { readonly seconds: StepSeconds }[]): StepSeconds {
  const sum: StepSeconds = { load: 0, lookup: 0, gather: 0, run: 0, merge: 0, update: 0 }
  for (const { seconds } of steps)
    for (const part of Object.keys(seconds) as (keyof StepSeconds)[])
      sum[part] = (sum[part] ?? 0) + (seconds[part] ?? 0)
  return sum
}
