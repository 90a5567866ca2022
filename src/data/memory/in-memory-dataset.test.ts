import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { collect, type PlainSample, randomSamples, SLOTS } from '../../../test/contracts/reader.ts'
import type { Batch } from '../batch.ts'
import { InMemoryDataset, type InMemoryDatasetOptions } from './in-memory-dataset.ts'
import { openMemoryPool } from './memory-pool.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-memory-'))
afterAll(() => rmSync(folder, { recursive: true }))
const line = ([[click], a, b, dense]: PlainSample) => [1, click, a.length, ...a, b.length, ...b, 3, ...dense].join(' ')
const textOf = (list: readonly PlainSample[]) => list.map((sample) => `${line(sample)}\n`).join('')
const put = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const samples = randomSamples(500).map(
  ([click, a, b, dense]): PlainSample => [click, a.map((sign) => sign || 1n), b.map((sign) => sign || 1n), dense],
)
const files = [0, 1].map((i) => put(`part-${i}`, textOf(samples.slice(250 * i, 250 * i + 250))))

const opened: InMemoryDataset[] = []
afterEach(() => Promise.all(opened.splice(0).map((dataset) => dataset.close())))
function open(options: Partial<InMemoryDatasetOptions> = {}): InMemoryDataset {
  const dataset = new InMemoryDataset({ slots: SLOTS, threads: 2, batchSize: 32, files, seed: 3, ...options })
  opened.push(dataset)
  return dataset
}
const samplesOf = async (batches: Iterable<Batch>) =>
  (await collect(asAsync(batches))).flatMap((batch) => batch.samples)
async function* asAsync(batches: Iterable<Batch>) {
  yield* batches
}
const texts = (list: readonly PlainSample[]) => list.map(String)

describe('InMemoryDataset', () => {
  test('loads every sample once and gives them out as often as asked', async () => {
    const dataset = open()
    await dataset.loadIntoMemory()
    expect(dataset.memoryDataSize).toBe(500)
    const batches = await collect(asAsync(dataset.batches()))
    expect(batches.map(({ size }) => size)).toEqual([...Array(15).fill(32), 20])
    expect(batches.flatMap((batch) => batch.samples)).toEqual(samples)
    expect(await samplesOf(dataset.batches())).toEqual(samples)
  })

  test('shuffles to an order that depends on seed and round alone', async () => {
    const dataset = open()
    dataset.preloadIntoMemory()
    await dataset.waitPreloadDone()
    dataset.localShuffle()
    const first = await samplesOf(dataset.batches())
    expect(texts(first)).not.toEqual(texts(samples))
    expect(texts(first).sort()).toEqual(texts(samples).sort())
    await dataset.globalShuffle()
    expect(await samplesOf(dataset.batches())).not.toEqual(first)
    dataset.localShuffle(0)
    expect(await samplesOf(dataset.batches())).toEqual(first)
    const other = open({ threads: 1 })
    await other.loadIntoMemory()
    other.localShuffle(0)
    expect(await samplesOf(other.batches())).toEqual(first)
  })

  test('goes on behind the cursor of a batch, and refuses other samples from a pipe', async () => {
    const pipe = { command: 'cat', dir: folder }
    const dataset = open({ pipe })
    await dataset.loadIntoMemory()
    dataset.localShuffle(1)
    const all = await collect(asAsync(dataset.batches()))
    const start = { ...all[4]!.cursor, batch: 5 }
    expect(await collect(asAsync(dataset.batches({ start })))).toEqual(all.slice(5))
    const changed = open({ pipe: { ...pipe, command: 'tac' } })
    await changed.loadIntoMemory()
    changed.localShuffle(1)
    expect(() => [...changed.batches({ start })]).toThrow('the reader is not deterministic')
  })

  test('drops zeros of sparse slots; a slot left empty has the single sign 0', async () => {
    const file = put('zeros', '1 0 3 0 5 0 2 0 0 3 0 0 1\n1 1 1 0 2 7 8 3 0 0 0\n')
    const dataset = open({ files: [file] })
    await dataset.loadIntoMemory()
    expect(await samplesOf(dataset.batches())).toEqual([
      [[0n], [5n], [0n], [0, 0, 1]],
      [[1n], [0n], [7n, 8n], [0, 0, 0]],
    ])
  })

  test('keeps instance ids and contents beside the samples, also when shuffled', async () => {
    const rows = samples.slice(0, 40)
    const file = put('ids', rows.map((sample, i) => `1 id-${i} 1 text${i} ${line(sample)}\n`).join('\n'))
    const dataset = open({ files: [file], format: 'multislot', parseInsId: true, parseContent: true })
    await dataset.loadIntoMemory()
    expect(await samplesOf(dataset.batches())).toEqual(rows)
    expect(dataset.insIds[7]).toBe('id-7')
    dataset.localShuffle()
    const shuffled = await samplesOf(dataset.batches())
    expect(dataset.insIds.map((id) => rows[Number(id.slice(3))])).toEqual(shuffled)
    expect(dataset.contents.map((text) => rows[Number(text.slice(4))])).toEqual(shuffled)
  })

  test('mixes single slots among samples under feaEval', async () => {
    const dataset = open({ feaEval: true })
    await dataset.loadIntoMemory()
    dataset.slotsShuffle(['2', 'dense_feature'])
    const mixed = await samplesOf(dataset.batches())
    expect(mixed.map(([click, a]) => [click, a])).toEqual(samples.map(([click, a]) => [click, a]))
    for (const slot of [2, 3] as const) {
      expect(mixed.map((sample) => sample[slot])).not.toEqual(samples.map((sample) => sample[slot]))
      expect(mixed.map((sample) => String(sample[slot])).sort()).toEqual(
        samples.map((sample) => String(sample[slot])).sort(),
      )
    }
    expect(() => dataset.slotsShuffle(['color'])).toThrow('There is no slot "color"')
    expect(() => open().slotsShuffle(['2'])).toThrow('slots_shuffle needs fea_eval')
  })

  test('has nothing to give before it is loaded and after it is released', async () => {
    const dataset = open()
    expect(() => [...dataset.batches()]).toThrow('call loadIntoMemory() before')
    await dataset.loadIntoMemory()
    dataset.releaseMemory()
    expect(dataset.memoryDataSize).toBe(0)
    expect(() => dataset.localShuffle()).toThrow('call loadIntoMemory() before')
  })
})

test('what is asked for ahead is loaded once, whether the pass before it has been read by then or not', async () => {
  const load = vi.spyOn(InMemoryDataset.prototype, 'loadIntoMemory')
  const pool = openMemoryPool({ slots: SLOTS, threads: 1 })
  const readOf = (epoch: number) => ({ files: [files[epoch]!], batchSize: 32, epoch, seed: 3 })
  try {
    pool.prefetch!(readOf(1))
    const first = await collect(pool.read(readOf(0)))
    expect(first.flatMap((batch) => batch.samples)).toEqual(samples.slice(0, 250))
    pool.prefetch!(readOf(0))
    const second = await collect(pool.read(readOf(1)))
    expect(second.flatMap((batch) => batch.samples)).toEqual(samples.slice(250))
    await collect(pool.read(readOf(0)))
    expect(load).toHaveBeenCalledTimes(3)
  } finally {
    load.mockRestore()
    await pool.close()
  }
})

test('a memory pool reads its files once, and shuffles each epoch anew if asked', async () => {
  const pool = openMemoryPool({ slots: SLOTS, threads: 1, shuffle: 'local' })
  const own = put('once', samples.map(line).join('\n'))
  const read = (epoch: number) => collect(pool.read({ files: [own], batchSize: 64, epoch, seed: 1 }))
  const [first, again] = [await read(0), await read(0)]
  writeFileSync(own, 'no samples at all\n')
  const second = await read(1)
  await pool.close()
  expect(again).toEqual(first)
  const listed = (batches: typeof first) => batches.flatMap((batch) => batch.samples.map(String))
  expect(listed(second)).not.toEqual(listed(first))
  expect(listed(second).sort()).toEqual(listed(first).sort())
})
