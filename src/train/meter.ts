/** @file Running metrics of one phase of an epoch: losses and AUC over all threads, rates between two reports. */
import { performance } from 'node:perf_hooks'
import type { EventOf, Metrics } from '../event/index.ts'
import { addAuc, aucOf, emptyAuc } from '../metric/index.ts'
import type { Histograms, Phase } from './messages.ts'
import type { StepReport } from './trainer-pool.ts'

export class Meter {
  samples = 0
  /** Highest batch index seen. */
  lastBatch = -1
  readonly #phase: Phase
  readonly #epoch: number
  readonly #started = performance.now()
  readonly #sums: Record<string, number> = {}
  readonly #histograms = new Map<number, Histograms>()
  #reported = { at: this.#started, samples: 0, batches: 0, readerSeconds: 0 }
  #batches = 0
  /** Time the loop spent waiting for the reader, added by the loop. */
  readerSeconds = 0

  constructor(phase: Phase, epoch: number) {
    this.#phase = phase
    this.#epoch = epoch
  }

  get seconds(): number {
    return (performance.now() - this.#started) / 1000
  }

  add({ size, index, result, histograms, thread }: StepReport): void {
    this.samples += size
    this.#batches++
    this.lastBatch = Math.max(this.lastBatch, index)
    for (const [name, value] of Object.entries({ loss: result.loss, ...result.means })) {
      this.#sums[name] = (this.#sums[name] ?? 0) + value * size
    }
    if (histograms) this.#histograms.set(thread, histograms)
  }

  /** Metrics over the phase so far: means by sample, AUC over the histograms the threads last reported. */
  metrics(histograms: Iterable<Histograms> = this.#histograms.values()): Metrics {
    const sums = new Map<string, Float64Array>()
    for (const group of histograms) {
      for (const [name, histogram] of Object.entries(group)) {
        const sum = sums.get(name) ?? emptyAuc()
        addAuc(sum, histogram)
        sums.set(name, sum)
      }
    }
    const means = Object.entries(this.#sums).map(([name, sum]) => [name, sum / Math.max(1, this.samples)] as const)
    return Object.fromEntries([...means, ...[...sums].map(([name, histogram]) => [name, aucOf(histogram)] as const)])
  }

  batchEvent({ index, fraction }: StepReport): EventOf<'batch'> {
    const { at, samples, batches, readerSeconds } = this.#reported
    const now = performance.now()
    const [seconds, steps] = [(now - at) / 1000, this.#batches - batches]
    this.#reported = { at: now, samples: this.samples, batches: this.#batches, readerSeconds: this.readerSeconds }
    return {
      kind: 'batch',
      phase: this.#phase,
      epoch: this.#epoch,
      batch: index,
      samples: this.samples,
      fraction,
      metrics: this.metrics(),
      readerSecondsPerBatch: (this.readerSeconds - readerSeconds) / steps,
      secondsPerBatch: seconds / steps,
      samplesPerBatch: (this.samples - samples) / steps,
      samplesPerSecond: (this.samples - samples) / seconds,
    }
  }

  epochEvent(metrics: Metrics, seconds: number): EventOf<'epoch'> {
    const [phase, epoch, samples] = [this.#phase, this.#epoch, this.samples]
    return { kind: 'epoch', phase, epoch, samples, seconds, samplesPerSecond: samples / seconds, metrics }
  }
}
