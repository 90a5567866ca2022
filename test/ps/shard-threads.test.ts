/** @file Servers with several threads: each serves at a port of its own, from the same weights. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { loadModel } from '../../src/model/index.ts'
import {
  gatherDense,
  gatherRows,
  inspectHot,
  inspectServer,
  jobIdentity,
  RemoteParams,
  ServerGroup,
} from '../../src/training/ps/index.ts'
import { type BatchParams, denseLayout, denseSlices } from '../../src/weights/params/index.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { startJob } from './job.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const ASYNC = ['runner.sync_mode=async', 'runner.server_threads=3', 'runner.model_save_path=']

test('three threads of a worker, each served by another thread of the server, train', async () => {
  const path = join(folder, 'config.yaml')
  const overrides = [...ASYNC, 'runner.epochs=4', 'runner.thread_num=3']
  const job = await startJob({ path, workers: 1, servers: 1, overrides })
  try {
    await job.success()
    const [{ evaluation }] = job.named('worker 0').events.filter(({ kind }) => kind === 'result') as never as [
      { evaluation: { auc: number } },
    ]
    expect(evaluation.auc).toBeGreaterThan(0.72)
  } finally {
    job.kill()
  }
})

test.each([true, false])(
  'threads reach the ports the server announces, nearby %s, and all change the same weights',
  async (local) => {
    const path = join(folder, 'config.yaml')
    const job = await startJob({ path, workers: 1, servers: 1, overrides: ASYNC, workersStarted: false })
    try {
      const config = loadConfig({ path, overrides: ASYNC })
      const model = await loadModel(config)
      const identity = jobIdentity({ ...job.cluster, role: 'worker', rank: 0, endpoint: '' }, config.config, model)
      const servers = await ServerGroup.open({ servers: job.cluster.servers, identity, local })
      const paths = [0, 1, 2].map((thread) => servers.localPath(0, thread))
      expect(new Set(paths).size).toBe(local ? 3 : 1)
      const { floats } = denseLayout(model.train, model.optimizer)
      const slices = denseSlices(floats, 1)
      const { table_segments: segments } = config.config.runner
      const share = (sign: bigint): BatchParams => ({
        samples: 1,
        tables: model.train.tables.map(({ dim }, table) => ({
          ...{ table, rows: new Float32Array(dim), gradients: new Float32Array(dim).fill(1) },
          // Found by its hash in one of the segments: here the table says so itself.
          distinct: { signs: BigUint64Array.of(sign), lengths: new Uint32Array(segments).fill(1, 0, 1) },
        })),
        weights: new Float32Array(floats),
        gradients: new Float32Array(floats).fill(1),
      })
      for (const thread of [0, 1, 2]) {
        const params = new RemoteParams({
          ...{ thread, segments, slices, pushesAhead: 0 },
          call: (server, method, parts, what, read) =>
            servers.request(server, method, [Buffer.concat(parts)], what, thread).then(read),
        })
        const own = share(BigInt(thread))
        await params.pull(own, true)
        await params.push(own)
      }
      expect((await gatherDense(servers, slices)).steps).toBe(3)
      // What each has served counts.
      const { tables } = await inspectHot({ server: job.cluster.servers[0]!, token: job.cluster.token, hot: 5 })
      expect(tables.map(({ pulled }) => pulled)).toEqual(tables.map(() => 3))
      // Whichever thread served it, inspect knows the push.
      for (const thread of [0, 1, 2]) {
        const asked = { server: job.cluster.servers[0]!, token: job.cluster.token, key: String(thread) }
        const answer = await inspectServer({ ...asked, table: model.train.tables[0]!.name })
        expect(answer.kind === 'row' && answer.row?.lastUpdate).toMatchObject({ step: thread + 1, worker: 0 })
      }
      let rows = 0
      for await (const { signs } of gatherRows(servers, 0)) rows += signs.length
      expect(rows).toBe(3)
      servers.close()
      await job.success()
      expect(paths.filter((path) => path !== undefined && existsSync(path))).toEqual([])
    } finally {
      job.kill()
    }
  },
)
