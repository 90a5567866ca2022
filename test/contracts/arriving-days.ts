/** @file What online training and a server that follows it hold to, wherever their files lie: data that come in, donefiles, a store that is down, versions. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import type { RemoteFiles } from '../../src/base/fs/index.ts'
import { generateDemoDays } from '../../src/data/index.ts'
import { serve } from '../../src/inference/serve/index.ts'
import { openVersions, readDense, verifyVersions, writeDense } from '../../src/inference/versions/index.ts'
import { trainOnline } from '../../src/training/online/index.ts'

const CONFIG = fileURLToPath(new URL('../../models/rank/slot_dnn/config_online.yaml', import.meta.url))

export interface Store {
  /** The file system, to put files there. */
  readonly files: RemoteFiles
  /** Of runner.fs_name and fs_ugi. */
  readonly name: string
  readonly ugi: string
  /** What paths are below: `s3://bucket`. */
  readonly address: string
  stop?(): Promise<void>
  start?(): Promise<void>
}

/** Called once for each kind of store; `store` is there once the hooks of its file have run. */
export function testArrivingDays(store: () => Store): void {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-arriving-'))
    const days = { start: '20190720', days: 1, splitInterval: 480, rows: 20, slots: 8, donefile: 'data.done' }
    generateDemoDays({ out: join(folder, 'data'), ...days })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const put = async (path: string, from: string) =>
    store().files.write(path, piecesOf(await readFile(join(folder, from))))
  const putAll = async (below: string, from: string, isWanted: (path: string) => boolean) => {
    const entries = await readdir(join(folder, from), { recursive: true, withFileTypes: true })
    for (const entry of entries.filter((one) => one.isFile())) {
      const path = join(entry.parentPath, entry.name).slice(join(folder, from).length + 1)
      if (isWanted(path)) await put(`${below}/${path}`, join(from, path))
    }
  }
  const train = async (out: string, below: string, onEvent: (event: Event) => void) => {
    const { name, ugi, address } = store()
    const keys = {
      ...{ train_data_dir: `${address}/${below}`, fs_name: name, fs_ugi: ugi, model_save_path: join(folder, out) },
      ...{ data_donefile: 'data.done', split_interval: 480, split_per_pass: 1, end_day: '20190720' },
      ...{ data_sleep_second: 1, thread_num: 1, train_thread_num: 1, reader_type: 'InmemoryDataset' },
    }
    const overrides = Object.entries(keys).map(([key, value]) => `runner.${key}=${value}`)
    const config = loadConfig({
      path: CONFIG,
      cwd: folder,
      overrides: [...overrides, 'hyper_parameters.slot_num=8', 'hyper_parameters.layer_sizes=[8]'],
    })
    return await trainOnline({ config, emit: onEvent })
  }

  test('a split is trained once its donefile is there, and the next one is loaded ahead', { timeout: 120_000 }, async () => {
    await putAll('arriving', 'data', (path) => !path.startsWith('20190720/0800/data.done'))
    const said: string[] = []
    const { samples } = await train('out', 'arriving', (event) => {
      if (!('message' in event)) return
      said.push(event.message)
      if (event.message.startsWith('wait for data ready'))
        void put('arriving/20190720/0800/data.done', 'data/20190720/0800/data.done')
    })
    expect(samples).toBe(60)
    const waited = said.filter((line) => line.startsWith('wait for data ready'))
    expect(waited).toEqual([expect.stringContaining('arriving/20190720/0800/data.done')])
    expect(said.join('\n')).toContain('next data not ready')
    const lists = said.filter((line) => line.startsWith('my_file_list'))
    expect(lists).toHaveLength(3)
    expect(lists.join('\n')).not.toContain('data.done')
  }) // biome-ignore format: one line

  test('a store that is down when data are looked for is waited for', { timeout: 240_000 }, async ({ skip }) => {
    const { stop, start } = store()
    if (!stop || !start) return skip()
    await putAll('down', 'data', () => true)
    await stop()
    const said: string[] = []
    let started: Promise<void> | undefined
    const { samples } = await train('down', 'down', (event) => {
      if (!('message' in event)) return
      said.push(event.message)
      if (event.message.startsWith('The data cannot be looked for now')) started ??= start()
    })
    await started
    expect(samples).toBe(60)
    expect(said.join('\n')).toContain('The data cannot be looked for now')
  })

  test('a server follows what was copied there: base, deltas, dense weights', { timeout: 120_000 }, async () => {
    await cp(join(folder, 'out'), join(folder, 'copied'), { recursive: true })
    const log = (await readFile(join(folder, 'copied/versions.jsonl'), 'utf8')).trimEnd().split('\n')
    const show = async (count: number) => {
      await writeFile(join(folder, 'shown'), log.slice(0, count).map((line) => `${line}\n`).join('')) // biome-ignore format: one line
      await put('model/versions.jsonl', 'shown')
    }
    await putAll('model', 'copied', (path) => path.includes('/inference/'))
    await show(2)
    const root = `${store().address}/model`
    const served = await serve({ follow: root, port: 0, threads: 1, pollMs: 100, emit: () => undefined })
    const health = async () => (await fetch(`${served.url}/healthz`)).json()
    await expect.poll(health, { timeout: 60_000 }).toMatchObject({ version: '20190720/2', dense: null })
    await show(log.length)
    await expect.poll(health, { timeout: 60_000 }).toMatchObject({ version: '20190721/0', lagSeconds: 0 })
    const last = JSON.parse(log.at(-1)!) as { id: string; day: string; pass: number }
    const model = await readFile(join(folder, 'copied/20190720/delta-1/inference/model.onnx'))
    const { id, day, pass } = last
    await writeDense(join(folder, 'copied'), { number: 1, over: id, day, pass, steps: 3, model })
    await put('model/dense/1/model.onnx', 'copied/dense/1/model.onnx')
    await put('model/dense/current.json', 'copied/dense/current.json')
    await expect.poll(health, { timeout: 60_000 }).toMatchObject({ version: '20190721/0', dense: 1 })
    await served.close()
    expect(await openVersions(root).dense()).toEqual(await readDense(join(folder, 'copied')))
    expect(await verifyVersions(openVersions(root))).toEqual([])
  })
}

async function* piecesOf(bytes: Uint8Array) {
  yield bytes
}
