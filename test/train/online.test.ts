/** @file Online training in every way to take part in a job: what it waits for, what it leaves, where it goes on. */
import { copyFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { generateDemoDays } from '../../src/data/index.ts'
import { readExport } from '../../src/inference/export/index.ts'
import {
  openVersions,
  parseVersions,
  projection,
  readDelta,
  replay,
  verifyVersions,
} from '../../src/inference/versions/index.ts'
import { amongRanks, overPasses, type TrainOptions, withServers } from '../../src/training/driver/index.ts'
import { trainOnline } from '../../src/training/online/index.ts'
import { openSnapshot, savedRows } from '../../src/weights/snapshot/index.ts'
import { beside, inRing } from './ways.testing.ts'

vi.setConfig({ testTimeout: 300_000 })

const CONFIG = fileURLToPath(new URL('../../models/rank/slot_dnn/config_online.yaml', import.meta.url))
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-online-'))
  generateDemoDays({ out: join(folder, 'data'), start: '20190720', days: 2, splitInterval: 360, rows: 40, slots: 8 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = (out: string, ...overrides: string[]) =>
  loadConfig({
    path: CONFIG,
    cwd: folder,
    overrides: [
      ...[`runner.train_data_dir=${join(folder, 'data')}`, `runner.model_save_path=${out}`, 'runner.end_day=20190721'],
      ...['runner.split_interval=360', 'hyper_parameters.slot_num=8', 'hyper_parameters.layer_sizes=[8]'],
      ...['runner.reader_type=RecDataset', 'runner.data_sleep_second=1'],
      ...overrides,
    ],
  })

type Run = (options: TrainOptions) => ReturnType<typeof trainOnline>
const WAYS: Readonly<Record<string, { readonly run: Run; readonly overrides?: readonly string[] }>> = {
  alone: { run: (options) => trainOnline(options) },
  'rows of bfloat16 weights': {
    run: (options) => trainOnline(options),
    overrides: ['table_parameters.embedding.row_precision=bfloat16'],
  },
  'two workers and a server': {
    run: (options) =>
      beside(options, 2, (own, cluster: { rank: number }) =>
        trainOnline(own, withServers({ cluster: cluster as never }), { isFirst: cluster.rank === 0, job: 'test' }),
      ),
    overrides: ['runner.sync_mode=sync'],
  },
  'two ranks': {
    run: (options) =>
      inRing(options, (own, group) => trainOnline(own, amongRanks(group), { isFirst: group.rank === 0 })),
    overrides: ['runner.use_fleet=True'],
  },
  'passes on a device': {
    run: (options) => trainOnline(options, overPasses()),
    overrides: ['runner.sync_mode=gpubox', 'runner.reader_type=InmemoryDataset'],
  },
}

const said = (events: readonly Event[]) => events.flatMap((event) => ('message' in event ? [event.message] : []))
const lines = async (...path: string[]) => (await readFile(join(folder, ...path), 'utf8')).trimEnd().split('\n')
const versionsOf = async (out: string) =>
  parseVersions(await readFile(join(folder, out, 'versions.jsonl'), 'utf8'), out)

describe.each(Object.entries(WAYS))('%s', (name, { run, overrides = [] }) => {
  const out = `out-${name.replaceAll(' ', '-')}`

  test('every pass is judged, trained, published and saved; a day ends with base and batch model', async () => {
    const events: Event[] = []
    const config = load(out, ...overrides)
    const { samples } = await run({ config, emit: (event) => events.push(event) })
    expect(samples).toBe(2 * 4 * 40)
    const metrics = said(events).filter((line) => line.includes('Global Metric: AUC='))
    expect(metrics).toHaveLength(8)
    expect(metrics[0]).toMatch(
      /BUCKET_ERROR=.* MAE=.* RMSE=.* Actural_CTR=.* Predicted_CTR=.* COPC=.* MEAN Q_VALUE=.* Ins number=80$/,
    )
    expect(
      (await lines(out, 'donefile.txt')).map((line) =>
        line
          .replace(`${folder}/`, '')
          .split('\t')
          .filter((_, i) => i !== 1),
      ),
    ).toEqual([
      ['20190720', `${out}/20190720/1/`, '1', '0'],
      ['20190721', `${out}/20190721/0/`, '-1', '0'],
      ['20190721', `${out}/20190721/1/`, '1', '0'],
      ['20190722', `${out}/20190722/0/`, '-1', '0'],
    ])
    expect(await lines(out, 'base_donefile.txt')).toHaveLength(2)
    expect(await lines(out, 'patch_donefile.txt')).toHaveLength(4)
    expect((await readdir(join(folder, out, '20190721'))).sort()).toEqual([
      '0',
      '1',
      'base',
      'delta-0',
      'delta-1',
      'delta-2',
    ])
    expect((await readdir(join(folder, out, '20190721/delta-1'))).sort()).toEqual([
      '000',
      '001',
      'dnn_plugin',
      'inference',
      'oarfish.json',
    ])
  })

  test('base and deltas give the rows of the checkpoint after them, with those that went left out', async () => {
    const versions = await versionsOf(out)
    expect(versions.map(({ kind, day, pass }) => `${kind} ${day}/${pass}`)).toEqual([
      ...['base 20190720/1', 'delta 20190720/2', 'delta 20190721/0', 'base 20190721/0'],
      ...['delta 20190721/1', 'delta 20190721/2', 'delta 20190722/0', 'base 20190722/0'],
    ])
    expect(versions.some(({ gone }) => gone > 0)).toBe(true)
    for (const [version, checkpoint] of [
      [2, '20190721/0'],
      [3, '20190721/0'],
      [4, '20190721/1'],
      [6, '20190722/0'],
    ] as const) {
      const { tables } = await replay(openVersions(join(folder, out)), versions, versions[version]!)
      expect(contentOf(tables[0]!)).toEqual(await trainedRows(join(folder, out, checkpoint)))
    }
  })

  test('dense weights are published inside a pass, over the rows of the version before it', async () => {
    const keys = ['runner.dense_publish_seconds=0.01', 'runner.train_batch_size=2', 'runner.end_day=20190720']
    const more = [...keys, 'runner.evaluate=none', 'runner.delta_format=oarfish', 'runner.save_first_base=True']
    const events: Event[] = []
    await run({ config: load(`${out}-dense`, ...overrides, ...more), emit: (event) => events.push(event) })
    const root = join(folder, `${out}-dense`)
    expect(said(events).filter((line) => line.startsWith('published dense weights'))).not.toEqual([])
    expect(said(events).filter((line) => line.startsWith('NOT PUBLISHED'))).toEqual([])
    const source = openVersions(root)
    const dense = (await source.dense())!
    const over = (await versionsOf(`${out}-dense`)).find(({ id }) => id === dense.over)!
    expect(over).toMatchObject({ day: dense.day, pass: dense.pass })
    // They have learned more than the version that they go over.
    const { model: before } = await readDelta(join(root, over.path)).catch(() => readExport(join(root, over.path)))
    expect(Buffer.from(await source.denseModel(dense)).equals(before)).toBe(false)
    const kept = (await readdir(join(root, 'dense'))).filter((name) => name !== 'current.json')
    expect(kept.length).toBeLessThanOrEqual(2)
    expect(await verifyVersions(source)).toEqual([])
    if (name !== 'alone') return
    const { digest } = await run({ config: load('undisturbed', ...overrides, ...more.slice(1)), emit: () => undefined, digest: true }) // biome-ignore format: one line
    expect((await run({ config: load('published', ...overrides, ...more), emit: () => undefined, digest: true })).digest).toBe(digest) // biome-ignore format: one line
  })

  test('the same command finds everything trained', async () => {
    const before = await lines(out, 'versions.jsonl')
    const events: Event[] = []
    await run({ config: load(out, ...overrides), emit: (event) => events.push(event) })
    expect(said(events).join('\n')).toContain('trained already')
    expect(await lines(out, 'versions.jsonl')).toEqual(before)
  })
})

const contentOf = (rows: { sorted(): { signs: BigUint64Array; weights: Float32Array }; dim: number }) => {
  const { signs, weights } = rows.sorted()
  return [...signs].map((sign, i) => [sign, [...weights.subarray(i * rows.dim, (i + 1) * rows.dim)]])
}

/** What of a checkpoint's rows is worth serving. */
async function trainedRows(path: string) {
  const snapshot = await openSnapshot(path, 'test')
  const [table] = snapshot.manifest.tables
  const { dim, rowBytes, dtype: precision, accessor } = table!
  const project = projection({ dim, rowBytes, precision, accessor })
  const found: [bigint, number[]][] = []
  for await (const { signs, rows } of savedRows(snapshot, table!)) {
    const [all, kept] = [new Float32Array(signs.length * dim), new Uint8Array(signs.length)]
    project(rows, signs.length, all, kept)
    for (const [i, sign] of signs.entries())
      if (kept[i] === 1) found.push([sign, [...all.subarray(i * dim, (i + 1) * dim)]])
  }
  return found.sort(([a], [b]) => (a < b ? -1 : 1))
}

test('a file that comes after its pass on a device was prefetched is trained with it', async () => {
  const { run, overrides = [] } = WAYS['passes on a device']!
  const data = join(folder, 'growing')
  generateDemoDays({ out: data, start: '20190720', days: 1, splitInterval: 720, rows: 40, slots: 8 })
  const [first, late] = [join(data, '20190720/1200/part-000'), join(data, '20190720/1200/part-001')]
  const emit = (event: Event) => {
    // The next pass is on its way by then.
    if (event.kind === 'batch' && event.phase === 'train' && event.epoch === 0) copyFileSync(first, late)
  }
  const keys = ['split_interval=720', 'split_per_pass=1', 'end_day=20190720', 'print_interval=1', 'evaluate=none']
  const own = [`runner.train_data_dir=${data}`, ...keys.map((key) => `runner.${key}`)]
  const { samples } = await run({ config: load('grown', ...overrides, ...own), emit })
  expect(samples).toBe(3 * 40)
})

test('what a save settles and a day’s end drops reaches the rows of a pass on a device that was prefetched', async () => {
  const { run, overrides = [] } = WAYS['passes on a device']!
  const digestOf = async (out: string, prefetch: boolean) => {
    const config = load(out, ...overrides, `runner.prefetch=${prefetch}`, 'runner.evaluate=none')
    return (await run({ config, emit: () => undefined, digest: true })).digest
  }
  expect(await digestOf('ahead', true)).toBe(await digestOf('in-turn', false))
})

describe('alone', () => {
  test('stopped inside a pass it goes on behind the last checkpoint, to the same weights and versions', async () => {
    const stop = new AbortController()
    const emit = (event: Event) => {
      if (event.kind === 'batch' && event.phase === 'train' && event.epoch === 1) stop.abort()
    }
    const config = load('stopped', 'runner.print_interval=1')
    const first = await trainOnline({ config, emit, signal: stop.signal })
    expect(first.interrupted).toBe(true)
    const { digest } = await trainOnline({ config, emit: () => undefined, digest: true })
    const whole = await trainOnline({ config: load('whole'), emit: () => undefined, digest: true })
    expect(digest).toBe(whole.digest)
    const ids = async (out: string) => (await versionsOf(out)).map(({ id }) => id)
    expect(await ids('stopped')).toEqual(await ids('whole'))
  })

  test('a split whose donefile is missing is waited for; the next pass is prefetched when it is there', async () => {
    generateDemoDays({
      out: join(folder, 'late'),
      start: '20190720',
      days: 1,
      splitInterval: 360,
      rows: 16,
      slots: 8,
      donefile: 'data.done',
    })
    const [done, aside] = ['20190720/0600/data.done', 'aside'].map((name) => join(folder, 'late', name)) as [
      string,
      string,
    ]
    await rename(done, aside)
    const events: Event[] = []
    const emit = (event: Event) => {
      events.push(event)
      if ('message' in event && event.message.startsWith('wait for data ready')) void rename(aside, done)
    }
    const config = load(
      'waited',
      `runner.train_data_dir=${join(folder, 'late')}`,
      'runner.end_day=20190720',
      'runner.data_donefile=data.done',
    )
    await trainOnline({ config, emit })
    expect(said(events)).toContain(`wait for data ready: ${done}`)
    expect(
      said(events)
        .filter((line) => line.startsWith('my_file_list'))
        .join(),
    ).not.toContain('data.done')
  })

  test.each([
    ['skip', 48, 'did not come in'],
    ['stop', undefined, 'no data after'],
  ])('late data: %s', async (rule, samples, message) => {
    const data = join(folder, `missing-${rule}`)
    generateDemoDays({ out: data, start: '20190720', days: 1, splitInterval: 360, rows: 16, slots: 8 })
    await rm(join(data, '20190720/1200'), { recursive: true })
    const events: Event[] = []
    const config = load(
      `late-${rule}`,
      `runner.train_data_dir=${data}`,
      'runner.end_day=20190720',
      `runner.on_late_data=${rule}`,
      'runner.data_wait_minutes=0.001',
    )
    const run = trainOnline({ config, emit: (event) => events.push(event) })
    if (samples === undefined)
      await expect(run).rejects.toMatchObject({ code: 'ONLINE_LATE_DATA', message: expect.stringContaining(message) })
    else {
      expect((await run).samples).toBe(samples)
      expect(said(events).join('\n')).toContain(message)
    }
  })

  test('with evaluate: next every pass but the last is judged by the one after it', async () => {
    await trainOnline({
      config: load('next', 'runner.evaluate=next', 'runner.delta_format=oarfish'),
      emit: () => undefined,
    })
    const judged = (await lines('next', 'evaluation.jsonl')).map((line) => JSON.parse(line))
    expect(judged.map(({ day, pass, by }) => `${day}/${pass} by ${by.day}/${by.pass}`)).toEqual([
      '20190720/1 by 20190720/2', '20190720/2 by 20190721/1', '20190721/1 by 20190721/2',
    ]) // biome-ignore format: one line
    expect(judged[0]).toMatchObject({
      samples: 80,
      metrics: { auc: expect.any(Number), logloss: expect.any(Number), copc: expect.any(Number) },
    })
    expect(await readdir(join(folder, 'next/20190721/delta-1'))).toEqual(['inference'])
  })

  test('where what was published cannot be read, a base comes first and numbers go on', async () => {
    const overrides = ['runner.delta_format=oarfish', 'runner.evaluate=none']
    const first = load('unreadable', ...overrides, 'runner.end_day=20190720')
    await trainOnline({ config: first, emit: () => undefined })
    const last = (await versionsOf('unreadable')).at(-1)!
    await rm(join(folder, 'unreadable', last.path, 'manifest.json'))
    const events: Event[] = []
    await trainOnline({ config: load('unreadable', ...overrides), emit: (event) => events.push(event) })
    expect(said(events).join()).toContain('A base is published first')
    const versions = await versionsOf('unreadable')
    expect(versions[0]).toMatchObject({ kind: 'base', sequence: last.sequence + 1, follows: null })
    expect(new Set(versions.map(({ id }) => id)).size).toBe(versions.length)
  })

  test('the past is removed, but never what a version that is kept needs', async () => {
    await trainOnline({ config: load('pruned', 'runner.keep_versions=2', 'runner.keep_days=1'), emit: () => undefined })
    const versions = await versionsOf('pruned')
    expect(versions.map(({ day, pass, kind }) => `${kind} ${day}/${pass}`)).toContain('base 20190722/0')
    expect(await readdir(join(folder, 'pruned'))).not.toContain('20190720')
    for (const version of versions) await replay(openVersions(join(folder, 'pruned')), versions, version)
  })

  test('dense weights that could not be published are tried again, loudly, and training goes on', async () => {
    await mkdir(join(folder, 'barred'))
    await writeFile(join(folder, 'barred/dense'), 'not a folder')
    const events: Event[] = []
    const keys = ['runner.dense_publish_seconds=0.01', 'runner.train_batch_size=2', 'runner.save_first_base=True']
    await trainOnline({ config: load('barred', ...keys), emit: (event) => events.push(event) })
    expect(said(events).join('\n')).toContain('NOT PUBLISHED: dense weights; training goes on')
  })

  test('dense weights that nobody could follow are refused', async () => {
    const config = load('nobody', 'runner.dense_publish_seconds=5', 'runner.delta_format=paddle')
    await expect(trainOnline({ config, emit: () => undefined })).rejects.toMatchObject({ code: 'ONLINE_CONFIG' })
  })

  test('another trainer on the folder is refused', async () => {
    let second: Promise<unknown> | undefined
    const emit = ({ kind }: Event) => {
      if (kind === 'ready')
        second = trainOnline({ config: load('busy'), emit: () => undefined }).catch((error) => error)
    }
    await trainOnline({ config: load('busy'), emit })
    expect(await second).toMatchObject({ code: 'FOLDER_BUSY' })
  })

  test('a donefile of another model is refused', async () => {
    await mkdir(join(folder, 'other/20190720/1'), { recursive: true })
    await writeFile(join(folder, 'other/donefile.txt'), '20190720\t\tother/20190720/1/\t1\t0\n')
    await expect(trainOnline({ config: load('other'), emit: () => undefined })).rejects.toMatchObject({
      code: 'SNAPSHOT_MISSING',
    })
  })
})
