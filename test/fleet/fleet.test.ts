/** @file The Fleet API with servers and workers: training in every mode, saving together, exchanging numbers. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { openExport } from '../../src/inference/export/index.ts'
import { loadModel } from '../../src/model/index.ts'
import {
  DistributedStrategy,
  Fleet,
  Role,
  StrategyFactory,
  UserDefinedRoleMaker,
} from '../../src/paddle/fleet/index.ts'
import { digestRows } from '../../src/weights/table/index.ts'
import { freeEndpoints } from '../ports.testing.ts'
import { anotherWriter } from '../train/another-writer.testing.ts'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { fleetJob, type Member, register } from './job.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const SYNC = StrategyFactory.createSyncStrategy()

/** A strategy in which the first table of the tiny model has an accessor. */
function accessors(own: { readonly shard_num?: number; readonly accessor?: object }): DistributedStrategy {
  const strategy = new DistributedStrategy({ aSync: true })
  strategy.sparseTableConfigs = {
    ids: { ...own, accessor: { accessor_class: 'SparseAccessor', ...own.accessor } },
  }
  return strategy
}

async function digestOf({ program }: Member): Promise<string> {
  return (await program.worker!.gather()).digest()
}

describe('training', () => {
  test('one worker in sync trains bit for bit what one process trains, whichever the number of servers', async () => {
    const { result } = await trainTiny(folder, ['runner.epochs=2', 'runner.model_save_path='])
    for (const servers of [1, 3]) {
      const [digest] = await fleetJob({ folder, workers: 1, servers, strategy: SYNC }, async (member) => {
        await member.pass('train', 0)
        await member.reopen()
        await member.pass('train', 1)
        return digestOf(member)
      })
      expect(digest).toBe(result.digest)
    }
  })

  test.each([
    ['sync', SYNC],
    ['async', new DistributedStrategy({ aSync: true })],
    ['half_async', StrategyFactory.createHalfAsyncStrategy()],
    ['geo', StrategyFactory.createGeoStrategy(2)],
  ])('two workers with two threads learn in mode %s, each on its own files', async (mode, strategy) => {
    const options = { folder, workers: 2, servers: 2, strategy, overrides: ['runner.thread_num=2'] }
    const results = await fleetJob(options, async (member) => {
      expect(member.program.mode).toBe(mode)
      const { auc: before } = await member.pass('infer', 0)
      await member.fleet.barrierWorker()
      let samples = 0
      for (let epoch = 0; epoch < 4; epoch++) samples += (await member.pass('train', epoch)).samples!
      await member.fleet.barrierWorker()
      const { auc } = await member.pass('infer', 1)
      return { before, auc, samples: samples / 4 }
    })
    // Three files over two workers.
    expect(results.map(({ samples }) => samples)).toEqual([640, 320])
    for (const { before, auc } of results) expect(auc! - before!).toBeGreaterThan(0.1)
  })
})

describe('saving', () => {
  test('what is saved over two servers begins a job of three, by loadModel, with the same weights', async () => {
    const dirname = join(folder, 'saved')
    const trained = await fleetJob({ folder, workers: 2, servers: 2, strategy: SYNC }, async (member) => {
      await member.pass('train', 0)
      await member.fleet.savePersistables({ dirname })
      return digestOf(member)
    })
    const loaded = await fleetJob({ folder, workers: 1, servers: 3, strategy: SYNC }, async (member) => {
      expect(await digestOf(member)).not.toBe(trained[0])
      await member.fleet.loadModel(dirname)
      return digestOf(member)
    })
    expect(loaded[0]).toBe(trained[0])
  })

  test('initServer(dirname) loads tables and leaves dense weights as they begin', async () => {
    const dirname = join(folder, 'tables')
    const state = async (member: Member) => {
      const { dense, tables } = await member.program.worker!.gather()
      const rows = tables.map(({ rowCount }) => rowCount)
      return { dense: Buffer.from(dense.bytes()).toString('base64'), rows }
    }
    const job = { folder, workers: 1, strategy: SYNC }
    const [first] = await fleetJob({ ...job, servers: 1 }, async (member) => {
      const begin = await state(member)
      await member.pass('train', 0)
      await member.fleet.savePersistables({ dirname })
      return { begin, end: await state(member) }
    })
    const [second] = await fleetJob({ ...job, servers: 3, initServer: dirname }, state)
    expect(second!.rows).toEqual(first!.end.rows)
    expect(second!.rows[0]).toBeGreaterThan(0)
    expect(second!.dense).toBe(first!.begin.dense)
  })

  test('tables of bfloat16 weights are loaded by servers that keep them so, and refused by others', async () => {
    const dirname = join(folder, 'halved')
    const strategy = new DistributedStrategy({ aSync: true })
    strategy.sparseTableConfigs = Object.fromEntries(
      ['ids', 'wide'].map((table) => [table, { row_precision: 'bfloat16' }]),
    )
    const rows = async ({ program }: Member) => {
      const hash = createHash('sha256')
      for (const table of (await program.worker!.gather()).tables) digestRows(table.scan(), hash)
      return hash.digest('hex')
    }
    const job = { folder, workers: 1, strategy }
    const [saved] = await fleetJob({ ...job, servers: 1 }, async (member) => {
      await member.pass('train', 0)
      await member.fleet.savePersistables({ dirname })
      return rows(member)
    })
    const [loaded] = await fleetJob({ ...job, servers: 2, initServer: dirname }, rows)
    expect(loaded).toBe(saved)
    const fleet = new Fleet({ emit: () => undefined })
    const serverEndpoints = await freeEndpoints(1)
    fleet.init(new UserDefinedRoleMaker({ role: Role.SERVER, currentId: 0, workerNum: 1, serverEndpoints, env: {} }))
    const loadedConfig = loadConfig({ path: join(folder, 'config.yaml'), cwd: folder })
    register(fleet, { model: await loadModel(loadedConfig), seed: loadedConfig.config.runner.seed }, SYNC)
    await expect(fleet.initServer(dirname)).rejects.toMatchObject({
      code: 'FLEET_TABLE',
      message: expect.stringMatching(/table \w+ has \d values a row, .* has it in bfloat16$/),
    })
  })

  test('saveInferenceModel writes an export', async () => {
    const dirname = join(folder, 'inference')
    await fleetJob({ folder, workers: 2, servers: 2 }, async ({ fleet, pass }) => {
      await pass('train', 0)
      await fleet.saveInferenceModel({ dirname })
    })
    const { manifest } = await openExport(dirname)
    expect(manifest.outputs.length).toBeGreaterThan(0)
    expect(await readdir(dirname)).toContain('model.onnx')
  })

  test('a folder of other things, and one that another job writes, are refused on every worker', async () => {
    const [photos, held] = [join(folder, 'photos'), join(folder, 'held')]
    await mkdir(photos)
    await writeFile(join(photos, 'summer.jpg'), 'x')
    const owner = await anotherWriter(held)
    const failures = await fleetJob({ folder, workers: 2, servers: 1 }, async ({ fleet }) => {
      const codes: unknown[] = []
      for (const save of ['savePersistables', 'saveInferenceModel'] as const)
        for (const dirname of [photos, held])
          await fleet[save]({ dirname }).then(
            () => codes.push('no error'),
            (error: Error & { code: string }) => codes.push(error.code),
          )
      return codes
    })
    await owner.end()
    for (const codes of failures)
      expect(codes).toEqual(['SNAPSHOT_REPLACE', 'FOLDER_BUSY', 'EXPORT_WRITE', 'FOLDER_BUSY'])
    expect(await readdir(photos)).toEqual(['summer.jpg'])
  })

  test('a save that only worker 0 calls ends when the other waits elsewhere, and says who is missing', async () => {
    const [first, second] = await fleetJob({ folder, workers: 2, servers: 1 }, async ({ fleet, rank }) => {
      const call = rank === 0 ? fleet.savePersistables({ dirname: join(folder, 'alone') }) : fleet.barrierWorker()
      return call.then(
        () => 'no error',
        (error: Error & { code: string }) => `${error.code}: ${error.message}`,
      )
    })
    const places = `worker[0] waits at savePersistables(${join(folder, 'alone')}), worker[1] waits at barrierWorker`
    expect(first).toContain(`PS_WORKERS_APART: savePersistables(${join(folder, 'alone')}): not all workers take part`)
    expect(first).toContain(places)
    expect(second).toContain(places)
  })

  test('a save that only worker 0 calls ends when the other has left', async () => {
    const [first] = await fleetJob({ folder, workers: 2, servers: 1 }, async ({ fleet, rank }) => {
      if (rank === 1) return ''
      return fleet.savePersistables({ dirname: join(folder, 'alone') }).then(
        () => 'no error',
        (error: Error) => error.message,
      )
    })
    expect(first).toContain('worker[1] has left')
  })

  test('a save that fails on worker 0 fails on every worker, with its reason', async () => {
    const dirname = join(folder, 'file')
    await mkdir(folder, { recursive: true })
    await writeFile(dirname, 'in the way')
    const failures = await fleetJob({ folder, workers: 2, servers: 1 }, ({ fleet }) =>
      fleet.savePersistables({ dirname: join(dirname, 'below') }).then(
        () => 'no error',
        (error: Error & { code: string }) => error.code,
      ),
    )
    expect(failures).toEqual(['FOLDER_WRITE', 'FOLDER_WRITE'])
  })

  test("tables with an accessor are saved as Paddle's files, in shards that any number of servers takes", async () => {
    const dirname = join(folder, 'paddle')
    const strategy = accessors({ shard_num: 10 })
    const job = { folder, workers: 2, strategy }
    const rowsOf = async ({ program }: Member) =>
      (await program.worker!.gather()).tables.map(({ rowCount }) => rowCount)
    const [first] = await fleetJob({ ...job, servers: 2 }, async (member) => {
      await member.pass('train', 0)
      await member.fleet.savePersistables({ dirname })
      return { rows: await rowsOf(member), digest: await digestOf(member) }
    })
    expect(await readdir(join(dirname, '000'))).toContain('part-001-00009.gz')
    const [loaded] = await fleetJob({ ...job, servers: 3 }, async (member) => {
      await member.fleet.loadModel(dirname)
      return rowsOf(member)
    })
    expect(loaded).toEqual(first!.rows)
    const [begun] = await fleetJob({ ...job, servers: 1, initServer: dirname }, rowsOf)
    expect(begun).toEqual(first!.rows)
    expect(first!.rows[0]).toBeGreaterThan(0)
  })

  test('shrink lets rows go that are worth too little', async () => {
    const strategy = accessors({ accessor: { ctr_accessor_param: { delete_threshold: 1e9 } } })
    const [rows] = await fleetJob({ folder, workers: 2, servers: 2, strategy }, async (member) => {
      const count = async () => (await member.program.worker!.gather()).tables[0]!.rowCount
      await member.pass('train', 0)
      await member.fleet.barrierWorker()
      const before = await count()
      await member.fleet.shrink()
      return [before, await count()]
    })
    expect(rows![0]).toBeGreaterThan(0)
    expect(rows![1]).toBe(0)
  })

  test.each([1, 3])('save mode %i needs an accessor', async (mode) => {
    await fleetJob({ folder, workers: 1, servers: 1 }, async ({ fleet }) => {
      await expect(fleet.savePersistables({ dirname: 'x', mode })).rejects.toMatchObject({ code: 'FLEET_SAVE_MODE' })
    })
  })
})

describe('fleet.util', () => {
  test('workers reduce, gather and wait for each other', async () => {
    const results = await fleetJob({ folder, workers: 3, servers: 1 }, async ({ fleet, rank }) => {
      const { util } = fleet
      await util.barrier()
      return {
        sum: await util.allReduce(rank + 0.1),
        most: await util.allReduce([[rank, 1 - rank], [Number.POSITIVE_INFINITY]], 'max'),
        least: await util.allReduce(Float32Array.of(rank, 7), 'min'),
        all: await util.allGather({ rank, name: `w${rank}` }),
      }
    })
    const all = [0, 1, 2].map((rank) => ({ rank, name: `w${rank}` }))
    for (const { sum, most, least, all: gathered } of results) {
      expect(sum).toBeCloseTo(3.3, 12)
      expect(most).toEqual([[2, 1], [Number.POSITIVE_INFINITY]])
      expect(least).toEqual(Float32Array.of(0, 7))
      expect(gathered).toEqual(all)
    }
  })

  test('shapes that differ between workers are refused, naming the worker', async () => {
    const failures = await fleetJob({ folder, workers: 2, servers: 1 }, ({ fleet, rank }) =>
      fleet.util.allReduce(rank === 0 ? [1] : [1, 2]).catch((error: Error) => error.message),
    )
    expect(failures[0]).toBe('allReduce: worker[1] brought 2 numbers, this one 1')
  })

  test('servers have no group: the input comes back with a warning', async () => {
    await fleetJob({ folder, workers: 1, servers: 1 }, async ({ fleet, events }) => {
      expect(await fleet.util.allReduce(5, 'sum', 'all')).toBe(5)
      const message = 'gloo is not initialized, will not communicator with other nodes'
      expect(events).toContainEqual({ kind: 'warning', message })
    })
  })
})
