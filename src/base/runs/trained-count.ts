/** @file Batches and samples that were trained, over epochs, out of events that count anew in each. */
import type { Event, Trained } from '../event/index.ts'

const NOTHING: Trained = { batches: 0, samples: 0 }

export class TrainedCount {
  #total: Trained
  #seen = { epoch: -1, ...NOTHING }

  /** `total`: what was trained before. @default nothing */
  constructor(total: Trained = NOTHING) {
    this.#total = total
  }

  get total(): Trained {
    return this.#total
  }

  /** What training has added since the last event: a printed batch, or the end of an epoch with what came behind its last printed one. */
  add(event: Event): Trained {
    const now = trainedOf(event)
    if (!now) return NOTHING
    if (now.epoch !== this.#seen.epoch) this.#seen = { epoch: now.epoch, ...(now.before ?? NOTHING) }
    const more = {
      batches: Math.max(0, now.batches - this.#seen.batches),
      samples: Math.max(0, now.samples - this.#seen.samples),
    }
    const { epoch, batches, samples } = now
    this.#seen = { epoch, batches, samples }
    this.#total = { batches: this.#total.batches + more.batches, samples: this.#total.samples + more.samples }
    return more
  }
}

function trainedOf(
  event: Event,
): (Trained & { readonly epoch: number; readonly before?: Trained | undefined }) | undefined {
  if (event.kind === 'batch' && event.phase === 'train') {
    const { epoch, batch, samples, before } = event
    return { epoch, batches: batch + 1, samples, before }
  }
  if (event.kind !== 'epoch' || event.phase !== 'train' || !event.own) return undefined
  const { epoch, own, before } = event
  return { epoch, ...own, before }
}
