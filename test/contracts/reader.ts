/** @file What every reader must do, whatever the input's form: one suite, called once per form. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRng, formatUserError, isUserError, mix64 } from '../../src/base/util/index.ts'
import {
  type Batch,
  openReaderPool,
  type ReaderPool,
  type ReaderPoolOptions,
  type ReadOptions,
  releaseBatch,
  type Slot,
} from '../../src/data/index.ts'

export const SLOTS: readonly Slot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  { kind: 'sparse', name: '1' },
  { kind: 'sparse', name: '2' },
  { kind: 'dense', name: 'dense_feature', width: 3, dtype: 'float32' },
]

/** Values per slot, in slot order. */
export type PlainSample = readonly [[bigint], bigint[], bigint[], [number, number, number]]

export interface ReaderForm {
  readonly name: string
  /** Writes samples as one file of this form and returns its path. */
  readonly write: (folder: string, name: string, samples: readonly PlainSample[]) => string
  /** Writes the samples and behind them one that is bad. */
  readonly writeBroken: (folder: string, name: string, samples: readonly PlainSample[]) => string
  readonly options?: Partial<ReaderPoolOptions>
  /** Cursors carry a checksum. */
  readonly withChecksum?: boolean
  /** Parts are cut by time too, so how much of a file was read by then is another share in every run. */
  readonly cutByTime?: boolean
  /** What is said about the bad sample, the 201st. @default its line or number */
  readonly brokenAt?: RegExp
}

const BATCH = 32

export function testReader(form: ReaderForm): void {
  const { name, write, writeBroken, options, withChecksum = false, cutByTime = false, brokenAt } = form
  describe(`reader of ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'oarfish-reader-'))
    const samples = randomSamples(1000)
    let files: readonly string[]
    const pools = new Map<number, ReaderPool>()
    const poolOf = (threads: number) => {
      const pool = pools.get(threads) ?? openReaderPool({ slots: SLOTS, threads, ...options })
      pools.set(threads, pool)
      return pool
    }
    const read = ({ threads = 2, ...over }: Partial<ReadOptions> & { threads?: number } = {}) =>
      // Chunks of a few samples: every batch crosses some.
      poolOf(threads).read({ files, batchSize: BATCH, epoch: 0, chunkBytes: 700, ...over })
    const compared = (batches: readonly PlainBatch[]) =>
      cutByTime ? batches.map(({ fraction, ...batch }) => batch) : batches
    beforeAll(() => {
      files = [0, 1, 2].map((i) =>
        write(folder, `part-${i}`, samples.slice(i * 333, i === 2 ? undefined : (i + 1) * 333)),
      )
    })
    afterAll(async () => {
      await Promise.all([...pools.values()].map((pool) => pool.close()))
      rmSync(folder, { recursive: true })
    })

    test('gives every sample once, in order, in numbered batches of which only the last is smaller', async () => {
      const batches = await collect(read())
      expect(batches.flatMap(({ samples }) => samples)).toEqual(samples)
      expect(batches.map(({ size }) => size)).toEqual([...Array(31).fill(BATCH), 1000 - 31 * BATCH])
      expect(batches.map(({ index }) => index)).toEqual([...Array(32).keys()])
      expect(batches.at(-1)!.fraction).toBe(1)
    })

    test('gives the same batches whatever the number of threads', async () => {
      const [one, two, three] = await Promise.all([1, 2, 3].map((threads) => collect(read({ threads }))))
      expect(compared(two!)).toEqual(compared(one!))
      expect(compared(three!)).toEqual(compared(one!))
    })

    test('gives the same batches for the same seed and epoch when shuffled, others in another epoch', async () => {
      const shuffled = { shuffle: true, seed: 7 }
      const first = await collect(read({ ...shuffled, threads: 1 }))
      expect(compared(await collect(read({ ...shuffled, threads: 3 })))).toEqual(compared(first))
      const texts = (all: typeof first) => all.flatMap((batch) => batch.samples.map(String))
      const other = await collect(read({ ...shuffled, epoch: 3 }))
      expect(texts(other)).not.toEqual(texts(first))
      expect(texts(other).sort()).toEqual(samples.map(String).sort())
    })

    test('goes on behind the cursor of any batch', async () => {
      const all = await collect(read())
      for (const at of [0, 17, 31]) {
        const { cursor } = all[at]!
        expect('checksum' in cursor).toBe(withChecksum)
        const rest = await collect(read({ start: { ...cursor, batch: at + 1 } }))
        expect(compared(rest)).toEqual(compared(all.slice(at + 1)))
      }
    })

    test('uses its memory again when batches are released', async () => {
      let buffers = 0
      for await (const batch of read({ threads: 1 })) {
        for (const { chunk } of batch.pieces) {
          // New memory is zero: a mark in the unused bytes behind the lease tells which was seen before.
          const mark = new Int32Array(chunk.signs.buffer, 12, 1)
          buffers += mark[0] === 0 ? 1 : 0
          mark[0] = 1
        }
        releaseBatch(batch)
      }
      // Of some 160 chunks: those in flight and those of two batches.
      expect(buffers).toBeLessThanOrEqual(20)
    })

    test('serves one pass after another, also after one that was left early or never begun', async () => {
      for await (const batch of read()) if (batch.index === 3) break
      expect((await collect(read({ epoch: 1 }))).flatMap((batch) => batch.samples)).toEqual(samples)
      await read({ epoch: 2 }).close()
      expect(await collect(read({ epoch: 3 }))).toHaveLength(32)
    })

    test('delivers every whole batch before a bad sample, then the error', async () => {
      const broken = writeBroken(folder, 'broken', samples.slice(0, 200))
      for (const threads of [1, 3]) {
        const seen: Batch[] = []
        const reading = (async () => {
          for await (const batch of read({ files: [broken, ...files], threads })) seen.push(batch)
        })()
        const error = await reading.catch((thrown) => thrown)
        expect(isUserError(error) && formatUserError(error)).toMatch(brokenAt ?? /:201:\d+ |at sample 201 of/)
        expect(seen.length).toBe(Math.floor(200 / BATCH))
      }
    })

    test('refuses files that are not there', () => {
      expect(() => read({ files: [join(folder, 'missing')] })).toThrow(/cannot be read/)
    })
  })
}

/** What a batch holds, as plain values. */
export interface PlainBatch extends Omit<Batch, 'pieces'> {
  readonly samples: readonly PlainSample[]
}

export async function collect(batches: AsyncIterable<Batch>): Promise<PlainBatch[]> {
  const all: PlainBatch[] = []
  for await (const { pieces, ...batch } of batches) all.push({ ...batch, samples: pieces.flatMap(samplesOf) })
  return all
}

function samplesOf({ chunk, from, to }: Batch['pieces'][number]): PlainSample[] {
  const [click, dense] = chunk.dense as [BigInt64Array, Float32Array]
  return Array.from({ length: to - from }, (_, k) => {
    const i = from + k
    const start = chunk.starts[i]!
    const middle = start + chunk.counts[2 * i]!
    const end = middle + chunk.counts[2 * i + 1]!
    expect(end).toBe(chunk.starts[i + 1])
    return [
      [click[i]!],
      [...chunk.signs.subarray(start, middle)],
      [...chunk.signs.subarray(middle, end)],
      [...dense.subarray(3 * i, 3 * i + 3)] as [number, number, number],
    ]
  })
}

export function randomSamples(count: number): PlainSample[] {
  const rng = createRng(5n)
  const signs = () =>
    Array.from({ length: 1 + rng.below(3) }, () => mix64(BigInt(rng.below(2 ** 40))) >> BigInt(rng.below(64)))
  const number = () => Math.fround(rng.normal())
  return Array.from({ length: count }, () => [[BigInt(rng.below(2))], signs(), signs(), [number(), number(), number()]])
}
