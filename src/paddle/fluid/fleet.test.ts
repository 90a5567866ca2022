/** @file Fluid programs on Fleet's servers: two workers and two servers of one process, over real sockets. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { freeEndpoints } from '../../../test/ports.testing.ts'
import { Fleet, Role, StrategyFactory, UserDefinedRoleMaker } from '../fleet/index.ts'
import { DatasetFactory, DistributeTranspilerConfig, Executor, io, optimizer } from './index.ts'
import { type Clicks, clicks, writeParts } from './job.testing.ts'

const silent = { emit: () => undefined }
const folder = mkdtempSync(join(tmpdir(), 'oarfish-fluid-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Strategy = Parameters<Fleet['distributedOptimizer']>[1]
interface Worker extends Clicks {
  readonly fleet: Fleet
  readonly exe: Executor
}

/** Runs `work` as each of two workers, beside two servers that end with them. */
async function job<T>(
  strategy: () => NonNullable<Strategy>,
  work: (worker: Worker, rank: number) => Promise<T>,
): Promise<T[]> {
  const serverEndpoints = await freeEndpoints(2)
  const member = (role: Role, currentId: number) => {
    const fleet = new Fleet(silent)
    fleet.init(new UserDefinedRoleMaker({ currentId, role, workerNum: 2, serverEndpoints, env: {} }))
    const built = clicks(() => fleet.distributedOptimizer(new optimizer.Adagrad({ learningRate: 0.1 }), strategy()))
    return { fleet, ...built }
  }
  const servers = [0, 1].map(async (rank) => {
    const { fleet } = member(Role.SERVER, rank)
    await fleet.initServer()
    await fleet.runServer()
  })
  const workers = [0, 1].map(async (rank) => {
    const worker = member(Role.WORKER, rank)
    await worker.fleet.initWorker()
    const exe = new Executor(undefined, silent)
    await exe.run(worker.startup)
    const result = await work({ ...worker, exe }, rank)
    await exe.close()
    await worker.fleet.stopWorker()
    return result
  })
  const results = await Promise.all(workers)
  await Promise.all(servers)
  return results
}

describe('a fluid program on servers', () => {
  test('trains over datasets, and either worker may save it', async () => {
    const files = writeParts(join(folder, 'train'), 4, 200)
    const results = await job(
      StrategyFactory.createAsyncStrategy,
      async ({ main: program, exe, fleet, vars, auc, predict }, rank) => {
        const dataset = new DatasetFactory().createDataset()
        dataset.setUseVar(vars)
        dataset.setBatchSize(20)
        dataset.setFilelist(fleet.util.getFileShard(files))
        await exe.trainFromDataset({ program, dataset })
        const { metrics, samples } = await exe.trainFromDataset({ program, dataset, fetchList: [auc] })
        await fleet.barrierWorker()
        if (rank === 0) await io.saveInferenceModel(join(folder, 'model'), ['x', 'ids'], [predict], exe)
        return { samples, auc: metrics['auc_0']! }
      },
    )
    for (const { samples, auc } of results) {
      expect(samples).toBe(400)
      expect(auc).toBeGreaterThan(0.95)
    }
    const exe = new Executor(undefined, silent)
    const [program, , fetchList] = await io.loadInferenceModel(join(folder, 'model'), exe)
    const [got] = await exe.run({
      program,
      feed: {
        x: [
          [0, 0],
          [0, 0],
        ],
        ids: [[1], [7]],
      },
      fetchList,
    })
    // [2 samples, 2 classes]: ids below 5 mean a click.
    expect(Number(got![1])).toBeGreaterThan(Number(got![3]))
    await exe.close()
  })

  test('trains batch by batch under the strategy that a transpiler config means', async () => {
    const halfAsync = () => Object.assign(new DistributeTranspilerConfig(), { syncMode: false })
    const feed = {
      x: [
        [0.5, 1],
        [0.1, 0],
      ],
      ids: [[3], [7, 107]],
      label: [1, 0],
    }
    const losses = await job(halfAsync, async ({ main: program, exe, loss }) => {
      const seen: number[] = []
      for (let i = 0; i < 20; i++) seen.push(Number((await exe.run({ program, feed, fetchList: [loss] }))[0]![0]))
      return seen
    })
    for (const seen of losses) expect(seen.at(-1)).toBeLessThan(seen[0]! / 2)
  })

  const geo = () => StrategyFactory.createGeoStrategy(2)
  test.each([
    ['sync', StrategyFactory.createSyncStrategy],
    ['half_async', StrategyFactory.createHalfAsyncStrategy],
    ['geo', geo],
  ])('is tested with a feed between passes over a dataset in %s', async (mode, strategy) => {
    const files = writeParts(join(folder, mode), 2, 100)
    const feed = { x: [[0, 0]], ids: [[1]], label: [1] }
    const losses = await job(strategy, async ({ main: program, exe, vars, loss }, rank) => {
      const dataset = new DatasetFactory().createDataset()
      dataset.setUseVar(vars)
      dataset.setBatchSize(20)
      dataset.setFilelist([files[rank]!])
      const seen: number[] = []
      for (let epoch = 0; epoch < 3; epoch++) {
        await exe.trainFromDataset({ program, dataset })
        const test = program.clone({ forTest: true })
        seen.push(Number((await exe.run({ program: test, feed, fetchList: [loss] }))[0]![0]))
      }
      await expect(exe.run({ program, feed })).rejects.toMatchObject({ code: 'FLUID_TRAINING' })
      return seen
    })
    for (const [first, second, third] of losses) {
      expect(second).toBeLessThan(first!)
      expect(third).toBeLessThan(second!)
    }
  })

  test('a worker without files takes part without samples', async () => {
    const files = writeParts(join(folder, 'few'), 1, 60)
    const samples = await job(StrategyFactory.createSyncStrategy, async ({ main: program, exe, fleet, vars }) => {
      const dataset = new DatasetFactory().createDataset()
      dataset.setUseVar(vars)
      dataset.setBatchSize(20)
      dataset.setFilelist(fleet.util.getFileShard(files))
      return (await exe.trainFromDataset({ program, dataset })).samples
    })
    expect(samples).toEqual([60, 0])
  })

  test('shuffles samples over both workers', async () => {
    const files = writeParts(join(folder, 'shuffled'), 2, 100)
    const sizes = await job(StrategyFactory.createAsyncStrategy, async ({ main: program, exe, fleet, vars }, rank) => {
      const dataset = new DatasetFactory().createDataset('InMemoryDataset')
      dataset.setUseVar(vars)
      dataset.setBatchSize(10)
      dataset.setFilelist([files[rank]!])
      dataset.preloadIntoMemory()
      await dataset.waitPreloadDone()
      await dataset.globalShuffle(fleet)
      const { samples } = await exe.trainFromDataset({ program, dataset })
      return { own: dataset.getMemoryDataSize(), samples, all: await dataset.getShuffleDataSize(fleet) }
    })
    for (const { own, samples, all } of sizes) {
      expect([samples, all]).toEqual([own, 200])
      expect(own).not.toBe(100)
    }
    expect(sizes.reduce((sum, { own }) => sum + own, 0)).toBe(200)
  })
})
