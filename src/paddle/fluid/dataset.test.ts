/** @file Datasets, passes over them, and models saved from them. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { anotherWriter } from '../../../test/train/another-writer.testing.ts'
import type { Event } from '../../base/event/index.ts'
import { DatasetFactory, Executor, io, optimizer } from './index.ts'
import { clicks as clicksWith, writeParts } from './job.testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-fluid-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const clicks = () => clicksWith(() => new optimizer.Adagrad({ learningRate: 0.1 }))
const parts = (name: string, count: number, rows: number) => writeParts(join(folder, name), count, rows)

describe('a pass over a dataset', () => {
  test('trains on all files, reports what was asked for, and does so again', async () => {
    const files = parts('train', 3, 400)
    const { main: program, startup, vars, auc, loss } = clicks()
    const events: Event[] = []
    const exe = new Executor(undefined, { emit: (event) => events.push(event) })
    await exe.run(startup)
    const dataset = new DatasetFactory().createDataset()
    dataset.setUseVar(vars)
    dataset.setBatchSize(50)
    dataset.setThread(2)
    dataset.setFilelist(files)
    const run = { program, dataset, fetchList: [auc, loss], fetchInfo: ['auc', 'loss'], printPeriod: 1000 }
    const first = await exe.trainFromDataset(run)
    const second = await exe.trainFromDataset(run)
    expect([first.samples, second.samples]).toEqual([1200, 1200])
    expect(second.metrics['auc_0']).toBeGreaterThan(0.95)
    expect(second.metrics['loss']).toBeLessThan(first.metrics['loss']!)
    const measured = await exe.inferFromDataset(run)
    const again = await exe.inferFromDataset(run)
    expect(measured.metrics).toEqual(again.metrics)
    expect(measured.metrics['auc_0']).toBeGreaterThan(0.99)
    expect(events.filter(({ kind }) => kind === 'batch')).toHaveLength(4)
    await exe.close()
  })

  test('reads what a command prints', async () => {
    const files = parts('piped', 2, 100).map((file) => {
      writeFileSync(file, Array.from({ length: 100 }, (_, i) => `${i % 10}\n`).join(''))
      return file
    })
    const { main: program, startup, vars } = clicks()
    const exe = new Executor(undefined, { emit: () => undefined })
    await exe.run(startup)
    const dataset = new DatasetFactory().createDataset('QueueDataset')
    dataset.setUseVar(vars)
    dataset.setPipeCommand(`awk '{ print "2 0 0 1", $1, "1", ($1 < 5) }'`)
    dataset.setBatchSize(10)
    dataset.setFilelist(files)
    const { samples } = await exe.trainFromDataset({ program, dataset })
    expect(samples).toBe(200)
    await exe.close()
  })

  test('in memory, samples can be shuffled', async () => {
    const { main: program, startup, vars } = clicks()
    const exe = new Executor(undefined, { emit: () => undefined })
    await exe.run(startup)
    const dataset = new DatasetFactory().createDataset('InMemoryDataset')
    dataset.setUseVar(vars)
    dataset.setBatchSize(30)
    await expect(exe.trainFromDataset({ program, dataset })).rejects.toThrow('the dataset has no files')
    dataset.setFilelist(parts('memory', 1, 90))
    await expect(exe.trainFromDataset({ program, dataset })).rejects.toThrow('nothing is in memory')
    await dataset.loadIntoMemory()
    dataset.localShuffle()
    await dataset.globalShuffle()
    expect(dataset.getMemoryDataSize()).toBe(90)
    const { samples } = await exe.trainFromDataset({ program, dataset })
    expect(samples).toBe(90)
    dataset.releaseMemory()
    expect(dataset.getMemoryDataSize()).toBe(0)
    await exe.close()
  })

  test('fetches files of another file system, or by a command, before it reads them', async () => {
    const [file] = parts('remote', 1, 60)
    const { main: program, startup, vars } = clicks()
    const exe = new Executor(undefined, { emit: () => undefined })
    await exe.run(startup)
    const dataset = new DatasetFactory().createDataset()
    dataset.setUseVar(vars)
    dataset.setBatchSize(10)
    dataset.setHdfsConfig(`file://${join(folder, 'remote')}`, '')
    dataset.setFilelist(['/part-0'])
    expect((await exe.trainFromDataset({ program, dataset })).samples).toBe(60)
    dataset.setDownloadCmd('head -20')
    dataset.setFilelist([file!])
    expect((await exe.trainFromDataset({ program, dataset })).samples).toBe(20)
    dataset.setDownloadCmd('cat nowhere')
    await expect(exe.trainFromDataset({ program, dataset })).rejects.toThrow(
      'the download command "cat nowhere" ended with 1',
    )
    await exe.close()
  })

  test('refuses what datasets do not have', () => {
    const factory = new DatasetFactory()
    const queue = factory.createDataset()
    expect(() => factory.createDataset('BoxPSDataset' as never)).toThrow('datafeed class BoxPSDataset does not exist')
    expect(() => queue.localShuffle()).toThrow(
      'QueueDataset does not support local shuffle, please use InMemoryDataset for local_shuffle',
    )
    expect(() => queue.globalShuffle()).toThrow(
      'QueueDataset does not support global shuffle, please use InMemoryDataset for global_shuffle',
    )
    expect(() => queue.setBatchSize(0)).toThrow('setBatchSize(0): expected a whole number above 0')
    expect(() => queue.setUseVar([clicks().loss])).toThrow('"mean_0" is not data')
  })
})

describe('what is saved', () => {
  const feed = {
    x: [
      [0.5, 1],
      [0.1, 0],
    ],
    ids: [[3], [7, 107]],
    label: [1, 0],
  }
  const trained = async () => {
    const built = clicks()
    const exe = new Executor(undefined, { emit: () => undefined })
    await exe.run(built.startup)
    for (let i = 0; i < 5; i++) await exe.run({ program: built.main, feed })
    return { ...built, exe }
  }
  const numbers = (arrays: readonly ArrayLike<number | bigint>[]) => arrays.map((array) => Array.from(array, Number))

  test('an inference model computes its targets as the program does', async () => {
    const { main, exe, loss, auc, predict } = await trained()
    const dirname = join(folder, 'model')
    await io.saveInferenceModel(dirname, ['x', 'ids', 'label'], [loss, auc, predict], exe)
    const [program, feeds, fetchList] = await io.loadInferenceModel(dirname, exe)
    expect(feeds).toEqual(['x', 'ids', 'label'])
    const got = numbers(await exe.run({ program, feed, fetchList }))
    const expected = numbers(
      await exe.run({ program: main.clone({ forTest: true }), feed, fetchList: [loss, predict] }),
    )
    expect(got[0]![0]).toBeCloseTo(expected[0]![0]!, 5)
    expect(got[1]).toEqual([1])
    for (const [i, value] of expected[1]!.entries()) expect(got[2]![i]).toBeCloseTo(value, 5)
    await expect(io.saveInferenceModel(dirname, ['x'], [predict], exe)).rejects.toThrow('ids')
    await exe.close()
  })

  test('a folder of other things is left as it is, and one that another process writes is refused with its name', async () => {
    const { main, exe, predict } = await trained()
    const other = join(folder, 'photos')
    mkdirSync(other)
    writeFileSync(join(other, 'summer.jpg'), 'x')
    await expect(io.savePersistables(exe, other, main)).rejects.toMatchObject({ code: 'SNAPSHOT_REPLACE' })
    await expect(io.saveInferenceModel(other, ['x', 'ids'], [predict], exe)).rejects.toMatchObject({
      code: 'EXPORT_WRITE',
      message: expect.stringContaining('would be lost'),
    })
    expect(readdirSync(other)).toEqual(['summer.jpg'])
    const held = join(folder, 'held')
    const owner = await anotherWriter(held)
    const busy = { code: 'FOLDER_BUSY', message: expect.stringContaining(`${held}: process ${owner.pid} on`) }
    try {
      await expect(io.savePersistables(exe, held, main)).rejects.toMatchObject(busy)
      await expect(io.saveInferenceModel(held, ['x', 'ids'], [predict], exe)).rejects.toMatchObject(busy)
      expect(existsSync(held)).toBe(false)
    } finally {
      await owner.end()
    }
    await io.savePersistables(exe, held, main)
    const { fence } = JSON.parse(readFileSync(join(held, 'manifest.json'), 'utf8'))
    expect(fence).toBeGreaterThan(owner.fence)
    await exe.close()
  })

  test('persistables bring a program back to where it was', async () => {
    const { main, startup, exe, loss } = await trained()
    const dirname = join(folder, 'persistables')
    await io.savePersistables(exe, dirname, main)
    const next = numbers(await exe.run({ program: main, feed, fetchList: [loss] }))
    await exe.run(startup)
    await io.loadPersistables(exe, dirname, main)
    expect(numbers(await exe.run({ program: main, feed, fetchList: [loss] }))).toEqual(next)
    await exe.close()
  })
})
