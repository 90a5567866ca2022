/** @file Params whose servers hold blocks of weights instead of stretches of the dense layout: what travels is in another order. */
import type { TraceContext } from '../../base/trace/index.ts'
import type { BatchParams, Params } from '../../weights/params/index.ts'

/** Runs of the dense layout and where they lie in what travels, in floats. */
export interface WireLayout {
  readonly floats: number
  readonly runs: readonly { readonly at: number; readonly wire: number; readonly size: number }[]
  /** Every push counts alike in a step that is made together, however many samples are behind it. */
  readonly equalPushes: boolean
}

export class WiredParams implements Params {
  readonly links: Params['links']
  readonly #inner: Params
  readonly #layout: WireLayout
  readonly #weights: Float32Array
  readonly #gradients: Float32Array

  constructor(inner: Params, layout: WireLayout) {
    this.#inner = inner
    this.links = inner.links
    this.#layout = layout
    this.#weights = new Float32Array(layout.floats)
    this.#gradients = new Float32Array(layout.floats)
  }

  traced(context: TraceContext): void {
    this.#inner.traced?.(context)
  }

  async pull(share: BatchParams, insert: boolean): Promise<void> {
    await this.#inner.pull(this.#wired(share), insert)
    this.#takeWeights(share)
  }

  async refresh(share: BatchParams): Promise<void> {
    await this.#inner.refresh?.(this.#wired(share))
    this.#takeWeights(share)
  }

  push(share: BatchParams): number | Promise<number> {
    for (const { at, wire, size } of this.#layout.runs)
      this.#gradients.set(share.gradients.subarray(at, at + size), wire)
    const wired = this.#wired(share)
    return this.#inner.push(this.#layout.equalPushes ? { ...wired, samples: 1 } : wired)
  }

  async flush(): Promise<void> {
    await this.#inner.flush()
  }

  #wired({ dense: _, ...share }: BatchParams): BatchParams {
    return { ...share, weights: this.#weights, gradients: this.#gradients }
  }

  #takeWeights({ weights }: BatchParams): void {
    for (const { at, wire, size } of this.#layout.runs) weights.set(this.#weights.subarray(wire, wire + size), at)
  }
}
