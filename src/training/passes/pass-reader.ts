/** @file The batches of an epoch, pass after pass: begins each pass before its first batch and has the next one prepared meanwhile. */
import type { Event, EventSink } from '../../base/event/index.ts'
import { type Batch, type BatchReader, InMemoryDataset, measureFiles, type ReaderPool } from '../../data/index.ts'
import { counted, type SizedTable } from './forecast.ts'
import type { EndedPass, LoadedSamples, PassCycle, PassSamples } from './pass-cycle.ts'

export interface PassReaderOptions {
  /** Of the samples; the batch size is that of all devices together. */
  readonly dataset: ConstructorParameters<typeof InMemoryDataset>[0]
  readonly shuffle: boolean
  /** An epoch is cut into so many passes. */
  readonly passes: number
  readonly epochs: number
  readonly filesOf: (epoch: number) => readonly string[]
  /** Whether the data of an epoch are there. @default they are */
  readonly isReady?: ((epoch: number) => Promise<boolean>) | undefined
  readonly emit: EventSink
  /** The first pass is counted, which nobody has forecast. @default false */
  readonly counts?: { readonly tables: readonly SizedTable[]; readonly devices: number } | undefined
}

export class PassReader implements ReaderPool {
  readonly #options: PassReaderOptions
  readonly #datasets: InMemoryDataset[] = []
  readonly #told = new Set<string>()
  #cycle!: PassCycle
  #loads = 0
  /** The pass under way, and its last batch once that was given out. */
  #place = { epoch: 0, pass: 0 }
  #lastBatch = -1
  #isCounted = false

  constructor(options: PassReaderOptions) {
    this.#options = options
  }

  /** Trainer threads, which the cycle needs, are opened with this reader. */
  attach(cycle: PassCycle): void {
    this.#cycle = cycle
  }

  /** Begins to prepare one pass of an epoch: the first of a run has nothing to hide behind. */
  prepare(epoch: number, pass: number): void {
    this.#cycle.prepare(this.#samplesOf(epoch, pass))
  }

  read({ epoch, start }: Parameters<ReaderPool['read']>[0]): BatchReader {
    const files = this.#options.filesOf(epoch)
    const totalBytes = measureFiles(files).reduce((sum, { bytes }) => sum + bytes, 0)
    const batches = () => this.#batches(epoch, start)
    return { totalBytes, close: async () => undefined, [Symbol.asyncIterator]: batches }
  }

  /** The pass under way, or the one that ended last. */
  get pass(): number {
    return this.#place.pass
  }

  /** Whether another pass begins behind this batch. */
  endsPass(batch: number): boolean {
    return batch === this.#lastBatch && this.#place.pass + 1 < this.#options.passes
  }

  /** The host's tables have changed between passes: rows that are prepared already are pulled again. */
  pullAnew(): void {
    this.#cycle.pullAnew()
  }

  /** Writes back what the pass under way has trained, if one is. */
  async end(): Promise<void> {
    if (!this.#cycle.isBegun) return
    const { passes, emit } = this.#options
    emit(passEnd(this.#place, passes, await this.#cycle.endPass()))
  }

  async close(): Promise<void> {
    await Promise.all(this.#datasets.map((dataset) => dataset.close()))
  }

  async *#batches(
    epoch: number,
    start: { readonly chunk: number; readonly sample: number; readonly batch?: number | undefined } | undefined,
  ): AsyncGenerator<Batch, void> {
    const { passes } = this.#options
    let batch = start?.batch ?? 0
    for (let pass = start?.chunk ?? 0; pass < passes; pass++) {
      const { loaded } = await this.#begin(epoch, pass)
      const sample = pass === start?.chunk ? start.sample : 0
      for (const next of loaded.batches(epoch, { sample, batch })) {
        batch = next.index + 1
        if (next.fraction === 1) this.#lastBatch = next.index
        // A place in the input is the pass and the sample in it.
        yield { ...next, cursor: { ...next.cursor, chunk: pass }, fraction: (pass + next.fraction) / passes }
      }
      if (pass + 1 < passes) await this.end() // unless it ended with its last batch
    }
  }

  async #begin(epoch: number, pass: number): Promise<{ readonly loaded: LoadedSamples }> {
    const { passes, epochs, emit, counts, isReady } = this.#options
    // Files may have come since it was prepared.
    const isPrepared = this.#next?.epoch === epoch && this.#next.pass === pass
    if (!isPrepared || this.#next?.key !== this.#keyOf(epoch, pass)) this.prepare(epoch, pass)
    this.#place = { epoch, pass }
    this.#lastBatch = -1
    const begun = await this.#cycle.beginPass()
    const { samples, tables, loadSeconds, collectSeconds, waitedSeconds, seconds } = begun
    const rows = tables.reduce((sum, own) => sum + own.rows, 0)
    if (counts && !this.#isCounted) emit(counted(begun, counts.tables, passes, counts.devices))
    this.#isCounted = true
    const spent = { loadSeconds, collectSeconds, waitedSeconds, seconds }
    emit({ kind: 'passBegin', epoch, pass, passes, samples, rows, ...spent })
    const next = pass + 1 < passes ? { epoch, pass: pass + 1 } : { epoch: epoch + 1, pass: 0 }
    const isThere = next.epoch === epoch || ((await isReady?.(next.epoch)) ?? true)
    if (next.epoch < epochs && isThere) this.prepare(next.epoch, next.pass)
    return begun
  }

  /** The pass that was prepared last. */
  #next: { readonly epoch: number; readonly pass: number; readonly key: string } | undefined

  /** Passes of equal files have equal samples. */
  #keyOf(epoch: number, pass: number): string {
    return JSON.stringify([this.#options.filesOf(epoch), pass])
  }

  #samplesOf(epoch: number, pass: number): PassSamples {
    const { passes, filesOf, dataset: options, shuffle, emit } = this.#options
    const files = filesOf(epoch)
    const key = this.#keyOf(epoch, pass)
    this.#next = { epoch, pass, key }
    const onNotice = (message: string) => {
      if (!this.#told.has(message)) emit({ kind: 'notice', message })
      this.#told.add(message)
    }
    const load = async (): Promise<LoadedSamples> => {
      const turn = this.#loads++ % 2
      this.#datasets[turn] ??= new InMemoryDataset(options)
      const dataset = this.#datasets[turn]
      dataset.setFileList(files)
      await dataset.loadIntoMemory({ part: { index: pass, count: passes }, onNotice })
      return {
        samples: dataset.memoryDataSize,
        pieces: dataset.pieces(),
        batches: (of, { sample, batch }) => {
          if (shuffle) dataset.localShuffle(of)
          return dataset.batches({ epoch: of, start: { chunk: 0, sample, batch } })
        },
      }
    }
    return { key, load }
  }
}

function passEnd(place: { epoch: number; pass: number }, passes: number, ended: EndedPass): Event {
  const { tables, newRows, bytesMoved, waitedSeconds, endSeconds: seconds } = ended
  const rows = tables.reduce((sum, own) => sum + own.rows, 0)
  return { kind: 'passEnd', ...place, passes, rows, newRows, bytesMoved, waitedSeconds, seconds }
}
