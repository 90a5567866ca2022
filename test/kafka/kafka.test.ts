/** @file Training from a real broker; runs where OARFISH_KAFKA_LIB names its jars: `npm run e2e:kafka`. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { generateDemoDays } from '../../src/data/index.ts'
import { trainOnline } from '../../src/training/online/index.ts'
import { oarfish } from '../oarfish.testing.ts'
import { Broker, LIB } from './broker.testing.ts'

vi.setConfig({ testTimeout: 400_000, hookTimeout: 200_000 })

const CONFIG = fileURLToPath(new URL('../../models/rank/slot_dnn/config_online.yaml', import.meta.url))
const HOOK = pathToFileURL(fileURLToPath(new URL('../chaos/kill-at-call.mjs', import.meta.url))).href

describe.skipIf(LIB === undefined)('a topic', () => {
  let folder: string
  let broker: Broker
  let lines: readonly string[]
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-kafka-'))
    generateDemoDays({
      out: join(folder, 'made'),
      start: '20190720',
      days: 1,
      splitInterval: 1440,
      rows: 300,
      slots: 8,
    })
    lines = (await readFile(join(folder, 'made/20190720/0000/part-000'), 'utf8')).trimEnd().split('\n')
    broker = await Broker.open(folder)
  })
  afterAll(async () => {
    await broker?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const client = () => new Kafka({ brokers: [broker.address], logLevel: logLevel.NOTHING })
  const create = async (topic: string, numPartitions = 3) => {
    const admin = client().admin()
    await admin.connect()
    // One of that name that is being removed is in the way for a moment.
    const made = () =>
      admin.createTopics({ topics: [{ topic, numPartitions, replicationFactor: 1 }], waitForLeaders: true })
    await vi.waitFor(made, { timeout: 60_000, interval: 1000 }).finally(() => admin.disconnect())
  }
  const send = async (topic: string, from: number, to: number, partitions = 3) => {
    // What a producer of the other kind sends again, where a broker is slow to answer, is in the topic twice.
    const producer = client().producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const messages = lines.slice(from, to).map((value, i) => ({ value, partition: i % partitions }))
    await producer.send({ topic, messages })
    await producer.disconnect()
  }
  const words = (topic: string, out: string, ...overrides: string[]) => {
    const keys = {
      ...{ train_data_dir: `kafka://${broker.address}/${topic}?group=${out}`, model_save_path: join(folder, out) },
      ...{ stream_pass_records: 40, stream_end: 'stop', reader_type: 'RecDataset' },
      ...{ data_sleep_second: 1, thread_num: 1, train_thread_num: 1, evaluate: 'none' },
    }
    const own = Object.entries(keys).map(([key, value]) => `runner.${key}=${value}`)
    return [...own, 'hyper_parameters.slot_num=8', 'hyper_parameters.layer_sizes=[8]', ...overrides]
  }
  const load = (...of: Parameters<typeof words>) => loadConfig({ path: CONFIG, cwd: folder, overrides: words(...of) })

  test('is trained in passes to its end; the group is told, the lag is said, and what comes later is trained once', async () => {
    await create('clicks')
    await send('clicks', 0, 100)
    const events: Event[] = []
    const first = await trainOnline({ config: load('clicks', 'first'), emit: (event) => events.push(event) })
    expect(first.samples).toBe(100)
    expect(events.flatMap((event) => (event.kind === 'stream' ? [event.lag] : []))).toEqual([100, 60, 20, 0])
    await send('clicks', 100, 130)
    const second = await trainOnline({ config: load('clicks', 'first'), emit: () => undefined })
    expect(second.samples).toBe(30)
    const { samples } = await trainOnline({ config: load('clicks', 'first'), emit: () => undefined })
    expect(samples).toBe(0)
    const admin = client().admin()
    await admin.connect()
    const [committed] = await admin.fetchOffsets({ groupId: 'first', topics: ['clicks'] })
    await admin.disconnect()
    const places = committed!.partitions.map(({ offset }) => Math.max(0, Number(offset)))
    expect(places.reduce((sum, place) => sum + place, 0)).toBeGreaterThanOrEqual(100)
  })

  test('each record is once in the model, though the job is killed again and again', async () => {
    await create('killed')
    await send('killed', 0, 200)
    await trainOnline({ config: load('killed', 'unharmed'), emit: () => undefined })
    const args = ['train', '-m', CONFIG, '-o', ...words('killed', 'harmed')]
    for (const call of [9, 60, 150, 40, 90]) {
      const env = { NODE_OPTIONS: `--import ${HOOK}`, CHAOS_KILL: `${call}:${join(folder, 'harmed')}` }
      const { code } = await oarfish(args, folder, undefined, env)
      expect([null, 0]).toContain(code)
    }
    const { code, err } = await oarfish(args, folder)
    expect([code, err]).toEqual([0, expect.any(String)])
    expect(await rowsOf('harmed')).toEqual(await rowsOf('unharmed'))
    const parts = async (out: string) =>
      (await readFile(join(folder, out, 'stream.jsonl'), 'utf8')).split('\n').slice(1)
    expect(await parts('harmed')).toEqual(await parts('unharmed'))
  })

  /** Files of the last checkpoint. */
  async function rowsOf(out: string) {
    const root = join(folder, out)
    const [, , path] = (await readFile(join(root, 'donefile.txt'), 'utf8')).trimEnd().split('\n').at(-1)!.split('\t')
    const last = join(root, path!.split(`${out}/`)[1]!)
    const names = (await readdir(last)).filter((name) => name !== 'manifest.json').sort()
    return await Promise.all(names.map(async (name) => [name, (await readFile(join(last, name))).toString('base64')]))
  }

  test('whose broker is down for a minute is waited for, loudly, and nothing is lost', async () => {
    await create('down')
    await send('down', 0, 40)
    const stop = new AbortController()
    const warnings: string[] = []
    let samples = 0
    const emit = (event: Event) => {
      if (event.kind === 'warning') warnings.push(event.message)
      if (event.kind === 'epoch' && event.phase === 'train') samples += event.samples
      if (samples === 80) stop.abort()
    }
    const config = load('down', 'down', 'runner.stream_end=wait', 'runner.stream_pass_seconds=1')
    const training = trainOnline({ config, emit, signal: stop.signal })
    await vi.waitFor(() => expect(samples).toBe(40), { timeout: 60_000 })
    await broker.stop()
    await vi.waitFor(() => expect(warnings.join()).toContain('cannot be read'), { timeout: 120_000 })
    await new Promise((resolve) => setTimeout(resolve, 60_000))
    await broker.start()
    await send('down', 40, 80)
    await training
    expect(samples).toBe(80)
    expect(warnings.length).toBeGreaterThan(1)
  })

  test('that is not there, or is another of its name, is said', async () => {
    const stop = new AbortController()
    const warnings: string[] = []
    const emit = (event: Event) => {
      if (event.kind !== 'warning') return
      warnings.push(event.message)
      stop.abort()
    }
    await expect(trainOnline({ config: load('nowhere', 'nowhere'), emit, signal: stop.signal })).rejects.toThrow()
    const admin = client().admin()
    await admin.connect()
    await admin.deleteTopics({ topics: ['clicks'] })
    await admin.disconnect()
    await create('clicks')
    await expect(trainOnline({ config: load('clicks', 'first'), emit: () => undefined })).rejects.toMatchObject({
      code: 'STREAM_GONE',
    })
  })
})
