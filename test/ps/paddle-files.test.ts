/** @file Servers save, load and shrink their tables in Paddle's form when a worker asks: real services over a transport in memory. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../src/base/env/index.ts'
import { memoryTransport } from '../../src/base/net/memory.testing.ts'
import { mix64 } from '../../src/base/util/index.ts'
import {
  KernelStore,
  loadDenseFiles,
  loadTables,
  ServerGroup,
  saveDenseFiles,
  saveTables,
  serveStore,
  shrinkTables,
} from '../../src/training/ps/index.ts'
import { optimizer } from '../../src/weights/optim/index.ts'
import { denseLayout, denseSlices } from '../../src/weights/params/index.ts'
import { serverOf } from '../../src/weights/table/index.ts'

const SHARDS = 10
const program = {
  ...{ feeds: [], rows: [], nodes: [], fetches: [], state: [] },
  parameters: [
    { name: 'fc.weight', shape: [7, 3], dtype: 'float32', value: 0, init: { kind: 'uniform', low: -1, high: 1 } },
    { name: 'fc.bias', shape: [3], dtype: 'float32', value: 1, init: { kind: 'uniform', low: -1, high: 1 } },
  ] as const,
  tables: [{ name: 'embedding', dim: 4, init: { kind: 'uniform', low: -1, high: 1 } as const }],
}
const rule = optimizer.adam({ lazy: true })
const tableParameters = {
  embedding: { accessor: { ctr_accessor_param: { show_click_decay_rate: 0.98, delete_threshold: 0.8 } } },
}

interface Job {
  readonly group: ServerGroup
  readonly stores: readonly KernelStore[]
  close(): Promise<void>
}

async function openJob(servers: number, seed = 1, shards = SHARDS): Promise<Job> {
  const transport = memoryTransport()
  const endpoints = Array.from({ length: servers }, (_, i) => `server:${7000 + i}`)
  const shared = { servers: endpoints, workers: [], workerNum: 1, jobId: 'test', token: 'secret', inherited: {} }
  const slices = denseSlices(denseLayout(program, rule).floats, servers)
  const identity = (role: 'server' | 'worker', rank: number) => ({
    ...{ jobId: 'test', token: 'secret', role, rank, agreement: {} },
  })
  const stores = slices.map(
    (slice) => new KernelStore({ program, optimizer: rule, tableParameters, seed, segments: 2, slice }),
  )
  const served = stores.map((store, rank) => {
    const cluster = { ...shared, role: 'server', rank, endpoint: endpoints[rank]! } as Cluster
    const options = { mode: 'async', segments: 2, threads: 1, emit: () => undefined, transport, shards } as const
    return serveStore({ cluster, store, identity: identity('server', rank), ...options })
  })
  const group = await ServerGroup.open({ servers: endpoints, identity: identity('worker', 0), transport })
  const close = async () => {
    group.close()
    await Promise.all(served)
  }
  return { group, stores, close }
}

/** Signs 0 to 199, each shown as often as it says. */
function fill({ stores }: Job): void {
  const placement = { shards: SHARDS, servers: stores.length }
  for (let sign = 0n; sign < 200n; sign++) {
    const table = stores[serverOf(sign, placement)]!.params.tables[0]!
    for (const segment of [0, 1]) {
      // The segment of a sign is the kernel's business: a push to the wrong one would make a second row.
      const lengths = Uint32Array.from([0, 1], (s) => (s === segment ? 1 : 0))
      const before = table.rowCount
      if (segmentOf(sign) !== segment) continue
      table.push(
        { signs: BigUint64Array.of(sign), lengths },
        {
          gradients: new Float32Array(4).fill(0.1),
          showClick: Float32Array.of(1, Number(sign), 0),
          samples: 1,
          step: 1,
        },
      )
      expect(table.rowCount).toBe(before + 1)
    }
  }
}

function segmentOf(sign: bigint): number {
  return Number(mix64(sign) >> 63n)
}

const rowsOf = ({ stores }: Job) => stores.reduce((sum, { params }) => sum + params.tables[0]!.rowCount, 0)

/** Every row's bytes by sign. */
function content({ stores }: Job): Map<bigint, string> {
  const all = stores.flatMap(({ params }) =>
    [...params.tables[0]!.scan()].flatMap(({ signs, rows, rowBytes }) =>
      [...signs].map((sign, i) => {
        const row = Buffer.from(rows.slice(i * rowBytes, (i + 1) * rowBytes))
        return [sign, row.subarray(0, rowBytes - 12).toString('hex')] as const
      }),
    ),
  )
  return new Map(all.sort(([a], [b]) => (a < b ? -1 : 1)))
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-ps-files-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('three servers save, two load: files as Paddle places them, rows and dense weights the same', async () => {
  const dir = join(folder, 'model')
  const [first, second] = [await openJob(3), await openJob(2, 2)]
  fill(first)
  const told: number[] = []
  const rows = await saveTables(first.group, { folder: dir, tables: [0], onRows: (_, done) => told.push(done) })
  expect([rows, told.at(-1)]).toEqual([200, 200])
  // 4 shards a server, the last has 2: sign 7 is server 1's, sign 19 is in part-002-00009.
  expect(await readdir(join(dir, '000'))).toEqual(
    ['000-00000', '000-00001', '000-00002', '000-00003', '001-00004', '001-00005', '001-00006', '001-00007']
      .concat(...['002-00008', '002-00009'])
      .map((part) => `part-${part}.gz`),
  )
  const layout = denseLayout(program, rule)
  const slicesOf = (servers: number) => denseSlices(layout.floats, servers)
  await saveDenseFiles(first.group, { folder: dir, number: 1, layout, slices: slicesOf(3) })
  expect(await readdir(join(dir, '001'))).toEqual(['part-000.gz', 'part-001.gz', 'part-002.gz'])
  expect(await loadTables(second.group, { folder: dir, tables: [0] })).toBe(200)
  await loadDenseFiles(second.group, { folder: dir, number: 1, layout, slices: slicesOf(2) })
  expect([...content(second).keys()]).toEqual([...content(first).keys()])
  const dense = ({ stores }: Job) =>
    stores.flatMap(({ params }) => {
      const weights = new Float32Array(params.dense.layout.floats)
      params.dense.pull(weights)
      return [...weights]
    })
  expect(dense(second).slice(0, 24)).toEqual(dense(first).slice(0, 24))
  await Promise.all([first.close(), second.close()])
})

test('shrink deletes on every server, and a delta holds what is new since the last', async () => {
  const job = await openJob(2)
  fill(job)
  // Scores below 0.8 after a day: shows below 8.16.
  expect(await shrinkTables(job.group, [0])).toBe(9)
  expect(rowsOf(job)).toBe(191)
  const save = (mode: 1 | 2 | 3) => saveTables(job.group, { folder: join(folder, `mode-${mode}`), tables: [0], mode })
  expect([await save(2), await save(1), await save(3)]).toEqual([191, 191, 191])
  expect(await readdir(join(folder, 'mode-1', '000'))).toContain('part-000-00000')
  await job.close()
})

test('files of another number of shards are refused, by name', async () => {
  const job = await openJob(2)
  await saveTables(job.group, { folder: join(folder, 'ten'), tables: [0] })
  await job.close()
  const other = await openJob(2, 1, 12)
  await expect(loadTables(other.group, { folder: join(folder, 'ten'), tables: [0] })).rejects.toMatchObject({
    message: expect.stringContaining('has 10 shards, shard_num is 12'),
    hint: expect.stringContaining('shard_num: 10'),
  })
  await other.close()
})
