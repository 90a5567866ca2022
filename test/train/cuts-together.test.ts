/** @file Cuts of several processes: all that train together go on from one, and every sample counts once. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { tinyFolder } from './tiny.testing.ts'
import { TOGETHER, trainApart } from './ways.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(3840)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const SAMPLES = 2880
const EVERY = 'runner.snapshot_interval=6'
let runs = 0
const APART = 'two ranks on two disks'
const freshPath = () => join(folder, `saved-${runs++}`)

async function trained(
  way: string,
  path: string,
  overrides: readonly string[],
  onEvent = (_: Event) => {},
  resume = false,
  signal?: AbortSignal,
) {
  const all = [`runner.model_save_path=${path}`, 'runner.epochs=2', 'runner.print_interval=1', ...overrides]
  const config = loadConfig({ path: join(folder, 'config.yaml'), overrides: all })
  const events: Event[] = []
  const emit = (event: Event) => {
    events.push(event)
    onEvent(event)
  }
  const train = way === APART ? trainApart : TOGETHER[way]!.train
  const result = await train({ config, emit, resume, signal, digest: true })
  return { result, events }
}

/** What a kill right after the second cut of epoch 1, or after another, would leave. */
async function killed(way: string, overrides: readonly string[], [epoch, number] = [1, 2]): Promise<string> {
  const [path, left] = [freshPath(), freshPath()]
  let cuts = 0
  await trained(way, path, overrides, (event) => {
    if (event.kind !== 'saved' || event.epoch !== epoch || event.batch === undefined || ++cuts !== number) return
    cpSync(path, left, { recursive: true, filter: (from) => !/lock/.test(from) })
  })
  expect(readdirSync(left).filter((name) => name.startsWith('cut-'))).toHaveLength(number!)
  return left
}

const EXACT: readonly (readonly [way: string, ...overrides: string[]])[] = [
  ['two ranks', 'runner.use_fleet=True'],
  ['two ranks', 'runner.use_fleet=True', 'runner.replicated_table_mb=0'],
  ['two workers', 'runner.sync_mode=sync'],
  ['two workers', 'runner.sync_mode=sync', 'runner.thread_num=2'],
]

describe.each(EXACT)('%s, %s %s', (way, ...overrides) => {
  test('end bit for bit where the undisturbed job ends', async () => {
    const whole = await trained(way, freshPath(), [...overrides, EVERY])
    const plain = await trained(way, freshPath(), overrides)
    expect(whole.result.digest).toBe(plain.result.digest)
    const left = await killed(way, [...overrides, EVERY])
    const { result, events } = await trained(way, left, [...overrides, EVERY], undefined, true)
    expect(events.filter(({ kind }) => kind === 'warning')).toEqual([])
    expect(result.digest).toBe(whole.result.digest)
    expect(result.samples).toBeLessThan(SAMPLES)
    expect(result.metrics).toEqual(whole.result.metrics)
    expect(result.evaluation).toEqual(whole.result.evaluation)
  })
})

/** Flips a bit in the last file of the newest cut with such a name: where rows have several parts, in the one that worker 0 does not write. */
function damage(path: string, kind: RegExp): string {
  const cuts = readdirSync(path).filter((name) => name.startsWith('cut-'))
  const newest = cuts.sort((a, b) => Number(a.split('-')[2]) - Number(b.split('-')[2])).at(-1)!
  const name = readdirSync(join(path, newest))
    .filter((file) => kind.test(file))
    .sort()
    .at(-1)!
  const file = join(path, newest, name)
  const bytes = readFileSync(file)
  bytes[Math.floor(bytes.length / 2)]! ^= 1
  writeFileSync(file, bytes)
  return join(newest, name)
}

// What has been loaded by the time the damage is met goes again, on all processes.
test.each([
  ['two ranks', 'two ranks', /\.rows$/, 'runner.use_fleet=True'],
  ['two ranks', 'two ranks', /\.signs$/, 'runner.use_fleet=True', 'runner.replicated_table_mb=0'],
  [APART, 'two ranks', /\.rows$/, 'runner.use_fleet=True'],
  ['two workers', 'two workers', /\.rows$/, 'runner.sync_mode=sync'],
  ['two workers', 'two workers', /^dense/, 'runner.sync_mode=sync'],
] as const)('%s pass over a cut of %s in which %s is damaged, as if it were not there', async (...given) => {
  const [back, way, kind, ...overrides] = given
  const all = [...overrides, EVERY]
  const whole = await trained(way, freshPath(), all)
  const left = await killed(way, all, [0, 1])
  const file = damage(left, kind)
  const { result, events } = await trained(back, left, all, undefined, true)
  expect(events).toContainEqual({ kind: 'warning', message: expect.stringContaining(file) })
  expect([result.digest, result.metrics]).toEqual([whole.result.digest, whole.result.metrics])
})

test('a rank that does not see the folder of the first gets its weights, rows and place from there', async () => {
  const overrides = ['runner.use_fleet=True', EVERY]
  const whole = await trained('two ranks', freshPath(), overrides)
  const left = await killed('two ranks', overrides)
  const { result, events } = await trained(APART, left, overrides, undefined, true)
  expect(events.filter(({ kind }) => kind === 'warning')).toEqual([])
  expect([result.digest, result.metrics]).toEqual([whole.result.digest, whole.result.metrics])
  expect(result.samples).toBeLessThan(SAMPLES)
})

describe.each([['async'], ['half_async'], ['geo']])('two workers, %s', (mode) => {
  test('train every sample of the epoch once', async () => {
    const overrides = [`runner.sync_mode=${mode}`, EVERY]
    const left = await killed('two workers', overrides)
    const { result, events } = await trained('two workers', left, overrides, undefined, true)
    const epoch = events.find((event) => event.kind === 'epoch' && event.phase === 'train')
    expect(epoch).toMatchObject({ epoch: 1, samples: SAMPLES })
    expect(result.samples).toBeLessThan(SAMPLES)
    expect(result.metrics['auc']).toBeGreaterThan(0.6)
  })
})

test('a worker that had nothing to read at the cut takes nothing of what the other has read', async () => {
  const data = join(folder, 'data/one-file')
  mkdirSync(data, { recursive: true })
  // One chunk: packed files are read from end to end.
  writeFileSync(join(data, 'part.gz'), gzipSync(readFileSync(join(folder, 'data/train/part-0'))))
  const overrides = ['runner.sync_mode=async', `runner.train_data_dir=${data}`, 'runner.snapshot_interval=4']
  const left = await killed('two workers', overrides)
  const { events } = await trained('two workers', left, overrides, undefined, true)
  const epoch = events.find((event) => event.kind === 'epoch' && event.phase === 'train')
  expect(epoch).toMatchObject({ epoch: 1, samples: SAMPLES / 3 })
})

test('another number of workers trains the epoch from its beginning, and says so', async () => {
  const left = await killed('two workers', ['runner.sync_mode=async', EVERY])
  const { result, events } = await trained('alone', left, [], undefined, true)
  expect(result.samples).toBe(SAMPLES)
  expect(events).toContainEqual({
    kind: 'warning',
    message: expect.stringContaining('2 workers were stopped inside epoch 1'),
  })
})

test.each([['async'], ['half_async']])(
  'two workers, %s, of which one is stopped go on where they were',
  async (mode) => {
    const [path, stop] = [freshPath(), new AbortController()]
    const overrides = [`runner.sync_mode=${mode}`]
    const stopAt = (event: Event) => event.kind === 'batch' && event.epoch === 1 && event.batch === 6 && stop.abort()
    const first = await trained('two workers', path, overrides, stopAt, false, stop.signal)
    expect(first.result.interrupted).toBe(true)
    const rest = await trained('two workers', path, overrides, undefined, true)
    expect(first.result.samples + rest.result.samples).toBe(2 * SAMPLES)
    const epoch = rest.events.find((event) => event.kind === 'epoch' && event.phase === 'train')
    expect(epoch).toMatchObject({ epoch: 1, samples: SAMPLES })
  },
)
