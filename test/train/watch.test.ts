/** @file Training on a folder that grows: each line once, in passes that a job which is started again repeats exactly. */
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { generateDemoDays } from '../../src/data/index.ts'
import { trainOnline } from '../../src/training/online/index.ts'

vi.setConfig({ testTimeout: 120_000 })

const CONFIG = fileURLToPath(new URL('../../models/rank/slot_dnn/config_online.yaml', import.meta.url))
let folder: string
let lines: readonly string[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-watch-'))
  generateDemoDays({ out: join(folder, 'made'), start: '20190720', days: 1, splitInterval: 1440, rows: 90, slots: 8 })
  lines = (await readFile(join(folder, 'made/20190720/0000/part-000'), 'utf8')).trimEnd().split('\n')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = (name: string, ...overrides: string[]) => {
  const keys = {
    ...{ train_data_dir: join(folder, name, 'data'), model_save_path: join(folder, name, 'out'), watch: 'True' },
    ...{ stream_pass_records: 30, stream_end: 'stop', reader_type: 'RecDataset' },
    ...{ data_sleep_second: 1, thread_num: 1, train_thread_num: 1, print_interval: 1, train_batch_size: 8 },
  }
  const words = [
    ...Object.entries(keys).map(([key, value]) => `runner.${key}=${value}`),
    ...['hyper_parameters.slot_num=8', 'hyper_parameters.layer_sizes=[8]', ...overrides],
  ]
  return loadConfig({ path: CONFIG, cwd: folder, overrides: words })
}

const grow = async (name: string, file: string, from: number, to: number) => {
  await mkdir(join(folder, name, 'data'), { recursive: true })
  await appendFile(join(folder, name, 'data', file), `${lines.slice(from, to).join('\n')}\n`)
}

test('every line is trained once, whatever comes in between and wherever it is stopped', async () => {
  for (const name of ['whole', 'stopped']) {
    await grow(name, 'a', 0, 40)
    await grow(name, 'b', 40, 60)
  }
  const events: Event[] = []
  const whole = await trainOnline({ config: load('whole'), emit: (event) => events.push(event), digest: true })
  expect([whole.samples, whole.interrupted]).toEqual([60, false])
  expect(events.filter(({ kind }) => kind === 'stream')[0]).toMatchObject({ unit: 'bytes', lag: expect.any(Number) })
  expect((await readdir(join(folder, 'whole/out'))).filter((name) => /^\d{8}$/.test(name))).toHaveLength(1)

  // Stopped inside the second pass; what comes in meanwhile is not for that pass.
  const stop = new AbortController()
  const emit = (event: Event) => {
    if (event.kind === 'batch' && event.phase === 'train' && event.epoch === 1) stop.abort()
  }
  expect((await trainOnline({ config: load('stopped'), emit, signal: stop.signal })).interrupted).toBe(true)
  await grow('stopped', 'a', 60, 90)
  const again = await trainOnline({ config: load('stopped'), emit: () => undefined })
  expect(again.samples).toBe(60) // the second pass again, then the third

  await grow('whole', 'a', 60, 90)
  const { digest } = await trainOnline({ config: load('whole'), emit: () => undefined, digest: true })
  const rest = await trainOnline({ config: load('stopped'), emit: () => undefined, digest: true })
  expect([rest.samples, rest.digest]).toEqual([0, digest])
  const parts = async (name: string) =>
    (await readFile(join(folder, name, 'out/stream.jsonl'), 'utf8')).replaceAll(name, '')
  expect(await parts('stopped')).toBe(await parts('whole'))
})

test('a model of another folder, and keys that do not go with a stream, are refused', async () => {
  const config = load('whole', `runner.train_data_dir=${join(folder, 'stopped/data')}`)
  await expect(trainOnline({ config, emit: () => undefined })).rejects.toMatchObject({ code: 'STREAM_POSITIONS' })
  const nowhere = load('whole', 'runner.model_save_path=')
  await expect(trainOnline({ config: nowhere, emit: () => undefined })).rejects.toMatchObject({ code: 'ONLINE_CONFIG' })
})
