/** @file Tables within a memory limit: training with rows on a disk gives, bit for bit, what training in memory gives. */
import { readdir, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { createRng } from '../../src/base/util/index.ts'
import { convertModel, exportCheckpoint } from '../../src/training/driver/index.ts'
import { startJob } from '../ps/job.testing.ts'
import { inferTiny, tinyFolder, trainTiny } from './tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  const files = ['train/part-0', 'train/part-1', 'train/part-2', 'test/part-0']
  for (const [i, file] of files.entries()) await writeFile(join(folder, 'data', file), lines(2500, BigInt(i)))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Many ids, most of them rare. */
function lines(count: number, seed: bigint): string {
  const random = createRng(seed)
  const id = () => Math.floor(40_000 * random.uniform() ** 3)
  const text = Array.from({ length: count }, () => {
    const slots = [...Array(3).fill('tags'), ...Array(4).fill('history')].map((slot) => `${slot}:${id()}`)
    return `click:${random.below(2)} user:${id()} ${slots.join(' ')} x:${random.uniform().toFixed(4)} x:${random.uniform().toFixed(4)}`
  })
  return `${text.join('\n')}\n`
}

const COMMON = ['runner.epochs=2', 'runner.table_segments=1', 'runner.train_batch_size=100']
const onDisk = (limit: string) =>
  ['ids', 'wide'].flatMap((table) => [
    `table_parameters.${table}.table_class=SSDSparseTable`,
    `table_parameters.${table}.memory_limit=${limit}`,
  ])
const ON_DISK = onDisk('8MB')
/** What filters of runs that wait for their merge may take beyond the limit on a busy machine: 26 runs, 64 kB each. */
const UNMERGED = 26 * 65_536
const saving = (name: string) => `runner.model_save_path=${join(folder, name)}`
const rowsEvents = (events: readonly Event[]) =>
  events.filter((event): event is Extract<Event, { kind: 'rows' }> => event.kind === 'rows' && event.table === 'ids')

test('one thread trains, saves, goes on and evaluates as in memory', async () => {
  const memory = await trainTiny(folder, [...COMMON, saving('memory')])
  const disk = await trainTiny(folder, [...COMMON, ...ON_DISK, saving('disk')])
  expect(disk.result.digest).toBe(memory.result.digest)
  expect(disk.result.metrics).toEqual(memory.result.metrics)
  expect(disk.result.evaluation).toEqual(memory.result.evaluation)
  const seen = rowsEvents(disk.events)
  const last = seen.at(-1)!
  expect(last.diskRows).toBeGreaterThan(1000)
  expect(seen.some(({ misses }) => misses > 1000)).toBe(true)
  expect(last.hitRate).toBeGreaterThan(0.1)
  expect(last.memoryBytes).toBeLessThan(1.1 * last.limitBytes + UNMERGED)
  expect(last.lost).toBe(0)
  expect(await readdir(join(folder, 'disk', `.rows-${hostname()}`))).toEqual([]) // which itself goes with the process

  const parts = ['runner.epochs=1', ...COMMON.slice(1), ...ON_DISK, saving('parts')]
  await trainTiny(folder, parts)
  const resumed = await trainTiny(folder, [...COMMON, ...ON_DISK, saving('parts')], { resume: true })
  expect(resumed.result.digest).toBe(memory.result.digest)
  const [here, there] = [
    await inferTiny(folder, [...COMMON, saving('disk')]),
    await inferTiny(folder, [...COMMON, ...ON_DISK, saving('disk')]),
  ]
  expect({ ...there.result, seconds: 0 }).toEqual({ ...here.result, seconds: 0 })
})

test('training that pauses for cuts inside an epoch goes on as in memory', async () => {
  const cutting = (name: string) => ['runner.epochs=1', ...COMMON.slice(1), 'runner.snapshot_interval=7', saving(name)]
  const memory = await trainTiny(folder, cutting('cut-memory'))
  const disk = await trainTiny(folder, [...cutting('cut-disk'), ...ON_DISK])
  expect(disk.result.digest).toBe(memory.result.digest)
  expect(rowsEvents(disk.events).reduce((sum, { misses }) => sum + misses, 0)).toBeGreaterThan(1000)
})

test('export, convert and digest pass over the disk and write what they write from memory', async () => {
  const run = (name: string, more: readonly string[]) => {
    const overrides = [...COMMON, 'runner.epochs=1', saving('streamed'), ...more]
    const config = loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })
    return { config, to: join(folder, `streamed-${name}`) }
  }
  const emit = () => {}
  const forms = { memory: run('memory', []), disk: run('disk', ON_DISK) }
  await trainTiny(folder, [...COMMON, 'runner.epochs=1', saving('streamed')])
  const written = []
  for (const { config, to } of Object.values(forms)) {
    const { files } = await exportCheckpoint({ config, out: `${to}-export`, emit })
    const from = join(folder, 'streamed', '0')
    const rows = await convertModel({ config, from, to: `${to}-checkpoint`, as: 'checkpoint', emit })
    await convertModel({ config, from, to: `${to}-paddle`, as: 'paddle', plain: true, emit })
    const names = (await readdir(`${to}-paddle`, { recursive: true })).sort()
    written.push({ files, rows, names })
  }
  expect(written[1]).toEqual(written[0])
  expect(await readdir(folder)).not.toContain('.rows')
})

test('two threads train on it too', async () => {
  const { events, result } = await trainTiny(folder, [
    ...COMMON,
    ...onDisk('8MB'), // rows of more batches are under way
    'runner.thread_num=2',
    'runner.model_save_path=',
  ])
  expect(result.metrics['loss']).toBeLessThan(0.8)
  expect(rowsEvents(events).at(-1)!.diskRows).toBeGreaterThan(1000)
})

test('a server keeps its rows on a disk and trains the same', async () => {
  const overrides = [...COMMON, 'runner.sync_mode=sync', 'runner.model_save_path=']
  const digestOf = async (more: readonly string[]) => {
    const path = join(folder, 'config.yaml')
    const job = await startJob({
      path,
      workers: 1,
      servers: 1,
      overrides: [...overrides, ...more],
      options: { digest: true },
    })
    try {
      await job.success()
      const [result] = job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'result'))
      return (result as unknown as { digest: string }).digest
    } finally {
      job.kill()
    }
  }
  expect(await digestOf(ON_DISK)).toBe(await digestOf([]))
})

test('without a disk rows are given up and counted', async () => {
  const limited = ['table_parameters.ids.memory_limit=1.5MB', 'runner.model_save_path=']
  const { events } = await trainTiny(folder, [...COMMON, ...limited])
  const reports = rowsEvents(events)
  expect(reports.reduce((sum, { lost }) => sum + lost, 0)).toBeGreaterThan(100)
  const last = reports.at(-1)!
  expect(last.memoryBytes).toBeLessThan(1.1 * last.limitBytes)
})

test('a limit below what one batch needs is refused with what it would take', async () => {
  const limited = [...ON_DISK.slice(0, 1), 'table_parameters.ids.memory_limit=5MB', 'runner.model_save_path=']
  await expect(trainTiny(folder, [...COMMON, ...limited])).rejects.toMatchObject({
    code: 'TABLE_MEMORY_LIMIT',
    message: expect.stringMatching(
      /table ids: the rows of one batch do not fit into its memory_limit of 5\.0 MB; \d+ MB are needed/,
    ),
  })
})

test('score and days are for tables that count them', async () => {
  const wrong = [...ON_DISK, 'table_parameters.ids.eviction=score', 'runner.model_save_path=']
  await expect(trainTiny(folder, [...COMMON, ...wrong])).rejects.toMatchObject({ code: 'TABLE_TIER' })
})
