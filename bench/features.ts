/**
 * @file `npm run bench -- --only features [--rounds 7]`: the reader alone, with features declared and without, in turns in one process: samples a
 * second, and the processor time of a sample, which a busy machine changes less.
 */
import { listDataFiles, openReaderPool, type ReaderPoolOptions, releaseBatch, type Slot } from '../src/data/index.ts'
import { criteoLike } from './dataset.ts'
import { compare } from './noise.ts'
import { COLUMNS } from './tables.ts'
import { median } from './tools.ts'

const THREADS = 2
/** Text is read so often in one pass: once would take less than a tenth of a second, of which threads that start and end are a part. */
const TIMES = 8
/** Of the reader's rate, that features may cost. */
const MOST = 0.05

const PLAIN: readonly Slot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  ...Array.from({ length: 26 }, (_, i): Slot => ({ kind: 'sparse', name: String(i + 1) })),
  { kind: 'dense', name: 'dense_feature', width: 13, dtype: 'float32' },
]
/** The ids that half of the samples have in this slot, and others. */
const words = (count: number) => [
  '38198',
  '656231',
  '274264',
  ...Array.from({ length: count - 3 }, (_, i) => String(1000 + i)),
]
/** One of each kind, as a model of this size has them: an id that is hashed, a vocabulary, buckets, a cross, and the logarithm of all numbers. */
const FEATURED: readonly Slot[] = [
  ...PLAIN.map((slot): Slot => {
    if (slot.kind === 'dense') {
      return slot.name === 'click' ? slot : { ...slot, feature: { kind: 'log', from: slot.name } }
    }
    const from = slot.name
    if (from === '1') return { ...slot, feature: { kind: 'hash', from, buckets: 1_000_000 } }
    if (from === '2') return { ...slot, feature: { kind: 'vocabulary', from, words: words(1000) } }
    if (from === '3') return { ...slot, feature: { kind: 'bucketise', from, boundaries: [10, 100, 1000, 10_000, 1e6] } }
    return slot
  }),
  { kind: 'sparse', name: '4_x_5', feature: { kind: 'cross', of: ['4', '5'], buckets: 1_000_000 } },
]

interface Pass {
  readonly rate: number
  readonly microseconds: number
}

/** Prints a table; false where features cost more than they may. */
export async function measureFeatures(rows: number, rounds: number): Promise<boolean> {
  const inputs: Readonly<Record<string, readonly [string, Omit<ReaderPoolOptions, 'slots' | 'threads'>]>> = {
    'slot text': [await criteoLike(rows, 'slot', 1, 'train'), {}],
    'MultiSlot text': [await criteoLike(rows, 'multislot', 1, 'train'), {}],
    CSV: [await criteoLike(rows, 'multislot', 1, 'csv'), { table: 'csv', columns: { columns: COLUMNS } }],
    Parquet: [await criteoLike(rows, 'multislot', 1, 'parquet'), { table: 'parquet', columns: { columns: COLUMNS } }],
  }
  console.log('| reader alone, 2 threads | samples/s | with features | ratio, 90 % | CPU us a sample | with features |')
  console.log('| --- | --- | --- | --- | --- | --- |')
  let isFast = true
  for (const [name, [dir, reader]] of Object.entries(inputs)) {
    const once = await listDataFiles(dir)
    const files = reader.table ? once : Array.from({ length: TIMES }, () => once).flat()
    const pools = [PLAIN, FEATURED].map((slots) => openReaderPool({ ...reader, slots, threads: THREADS }))
    const passes: [Pass[], Pass[]] = [[], []]
    for (let round = 0; round <= rounds; round++)
      // Who is first changes.
      for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const pass = await read(pools[which]!, files, round)
        if (round > 0) passes[which]!.push(pass) // threads are up, code is compiled
      }
    for (const pool of pools) await pool.close()
    const of = (which: 0 | 1, key: keyof Pass) => passes[which].map((pass) => pass[key])
    const { ratio, low, high } = compare(of(1, 'rate'), of(0, 'rate'))
    const shown = [0, 1].map((which) => Math.round(median(of(which as 0 | 1, 'rate'))).toLocaleString('en-US'))
    const cpu = [0, 1].map((which) => median(of(which as 0 | 1, 'microseconds')).toFixed(2))
    const between = `${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`
    console.log(`| ${name} | ${shown[0]} | ${shown[1]} | ${between} | ${cpu[0]} | ${cpu[1]} |`)
    if (high < 1 - MOST) isFast = false
  }
  return isFast
}

async function read(pool: ReturnType<typeof openReaderPool>, files: readonly string[], epoch: number): Promise<Pass> {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  let samples = 0
  for await (const batch of pool.read({ files, batchSize: 512, epoch })) {
    samples += batch.size
    releaseBatch(batch)
  }
  const { user, system } = process.cpuUsage(cpu)
  return { rate: samples / ((performance.now() - start) / 1000), microseconds: (user + system) / samples }
}
