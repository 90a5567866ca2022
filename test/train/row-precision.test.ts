/** @file Tables whose weights are bfloat16: every way to train has the same rows, saves and goes on with them, and gives them out as float32. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { openExport } from '../../src/inference/export/index.ts'
import { projection } from '../../src/inference/versions/index.ts'
import { convertModel } from '../../src/training/driver/index.ts'
import { openSnapshot, savedRows } from '../../src/weights/snapshot/index.ts'
import { exportTo } from '../export/exported.testing.ts'
import { startJob } from '../ps/job.testing.ts'
import { inferTiny, tinyFolder, trainTiny } from './tiny.testing.ts'
import { quiet, WAYS } from './ways.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(640)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const HALVED = ['ids', 'wide'].map((table) => `table_parameters.${table}.row_precision=bfloat16`)
const saving = (name: string) => `runner.model_save_path=${join(folder, name)}`
const load = (overrides: readonly string[]) => loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })

/** The weights of a saved table by sign, as float32. */
async function weightsIn(path: string, name: string) {
  const snapshot = await openSnapshot(path, 'test')
  const table = snapshot.manifest.tables.find((one) => one.name === name)!
  const found = new Map<bigint, number[]>()
  for await (const { signs, rows } of savedRows(snapshot, table)) {
    const { dim, rowBytes, dtype: precision, accessor } = table
    const [weights, kept] = [new Float32Array(signs.length * dim), new Uint8Array(signs.length)]
    projection({ dim, rowBytes, precision, accessor })(rows, signs.length, weights, kept)
    for (const [i, sign] of signs.entries()) found.set(sign, [...weights.subarray(i * dim, (i + 1) * dim)])
  }
  return { table, found }
}

/** The same of an export. */
async function exportedWeights(out: string) {
  const { manifest, tables } = await openExport(out)
  const own = tables[manifest.tables.findIndex(({ name }) => name === 'ids')]!
  const [signs, weights] = [new BigUint64Array(own.signs), new Float32Array(own.weights)]
  return new Map([...signs].map((sign, i) => [sign, [...weights.subarray(own.dim * i, own.dim * (i + 1))]]))
}

describe.each([
  ['lazy Adam', []],
  ['Adam that is not lazy', ['hyper_parameters.lazy=False']],
])('%s', (name, more) => {
  test('training goes on from a checkpoint as if it had never stopped, and learns as with float32', async () => {
    const at = saving(`whole ${name}`)
    const whole = await trainTiny(folder, [...HALVED, ...more, at, 'runner.epochs=2'])
    const parts = [...HALVED, ...more, saving(`parts ${name}`)]
    await trainTiny(folder, [...parts, 'runner.epochs=1'])
    const resumed = await trainTiny(folder, [...parts, 'runner.epochs=2'], { resume: true })
    expect(resumed.result.digest).toBe(whole.result.digest)
    const wide = await trainTiny(folder, [...more, 'runner.epochs=2', 'runner.model_save_path='])
    expect(wide.result.digest).not.toBe(whole.result.digest)
    expect(Math.abs(whole.result.evaluation!['auc']! - wide.result.evaluation!['auc']!)).toBeLessThan(0.02)
    const again = await inferTiny(folder, [
      ...HALVED,
      ...more,
      `runner.infer_load_path=${join(folder, `whole ${name}`)}`,
      'runner.infer_start_epoch=1',
      'runner.infer_end_epoch=2',
    ])
    expect(again.result.epochs[0]!.metrics['auc']).toBe(whole.result.evaluation!['auc'])
  })
})

test('a checkpoint of the other precision is refused, both ways, and before anything is read', async () => {
  await trainTiny(folder, [saving('wide')])
  await trainTiny(folder, [...HALVED, saving('halved')])
  const said = (path: string, more: readonly string[]) =>
    trainTiny(folder, [...more, saving(path), 'runner.epochs=2'], { resume: true }).then(
      () => 'went on',
      ({ code, message }: Error & { code: string }) => `${code}: ${message}`,
    )
  expect(await said('wide', HALVED)).toMatch(
    /SNAPSHOT_MISMATCH: .*\n.*table ids: dim 3 in bfloat16 here, 3 in float32 in the checkpoint/,
  )
  expect(await said('halved', [])).toMatch(/table wide: dim 1 in float32 here, 1 in bfloat16 in the checkpoint/)
})

test('checkpoints hold the halved rows; exports and Paddle’s text have the same weights as float32', async () => {
  const path = join(folder, 'given')
  await trainTiny(folder, [...HALVED, saving('given')])
  const { table, found } = await weightsIn(join(path, '0'), 'ids')
  expect(table).toMatchObject({ dtype: 'bfloat16', dim: 3, rowBytes: 8 + 2 * 12 })
  for (const weights of found.values())
    for (const bits of new Uint32Array(Float32Array.from(weights).buffer)) expect(bits & 0xffff).toBe(0)
  const out = join(folder, 'given-export')
  await exportTo(folder, out, { overrides: [...HALVED, saving('given')] })
  expect(await exportedWeights(out)).toEqual(found)
  // By Paddle's text a model goes from one precision to the other.
  const config = load([...HALVED, saving('given')])
  const [paddle, wide] = [join(folder, 'given-paddle'), join(folder, 'given-wide')]
  await convertModel({ config, from: join(path, '0'), to: paddle, as: 'paddle', emit: quiet })
  await convertModel({ config: load([]), from: paddle, to: wide, as: 'checkpoint', emit: quiet })
  const converted = await weightsIn(wide, 'ids')
  expect(converted.table.dtype).toBe('float32')
  expect(converted.found).toEqual(found)
})

test('rows of an accessor are exported as they are published, and come back from Paddle’s text as they were', async () => {
  const path = join(folder, 'accessor')
  const accessor = 'table_parameters.ids.accessor={accessor_class: CtrCommonAccessor, fea_dim: 3, embedx_dim: 0}'
  const own = [...HALVED, accessor, saving('accessor')]
  await trainTiny(folder, own)
  const { table, found } = await weightsIn(join(path, '0'), 'ids')
  expect(table.accessor).toMatchObject({ accessor: 'CtrCommonAccessor', precision: 'bfloat16' })
  expect(new Set([...found.values()].map((weights) => weights[2])).size).toBeGreaterThan(10)
  const out = join(folder, 'accessor-export')
  await exportTo(folder, out, { overrides: own })
  expect(await exportedWeights(out)).toEqual(found)
  const [paddle, back] = [join(folder, 'accessor-paddle'), join(folder, 'accessor-back')]
  await convertModel({ config: load(own), from: join(path, '0'), to: paddle, as: 'paddle', emit: quiet })
  await convertModel({ config: load(own), from: paddle, to: back, as: 'checkpoint', emit: quiet })
  expect((await weightsIn(back, 'ids')).found).toEqual(found)
})

test('rows on a disk give the bits of rows in memory', async () => {
  const common = [...HALVED, 'runner.epochs=2', 'runner.model_save_path=', 'hyper_parameters.lazy=False']
  const onDisk = ['ids', 'wide'].flatMap((table) => [
    `table_parameters.${table}.table_class=SSDSparseTable`,
    `table_parameters.${table}.memory_limit=9MB`,
  ])
  const [memory, disk] = [await trainTiny(folder, common), await trainTiny(folder, [...common, ...onDisk])]
  expect(disk.result.digest).toBe(memory.result.digest)
})

test.each(Object.keys(WAYS))('%s: an epoch is trained, saved, and gone on with', async (name) => {
  const way = WAYS[name]!
  const run = (epochs: number, resume: boolean) => {
    const own = [...HALVED, saving(`way ${name}`), `runner.epochs=${epochs}`]
    return way.train({ config: load(own), digest: true, resume, emit: quiet })
  }
  const [first, second] = [await run(1, false), await run(2, true)]
  expect(second.evaluation!['auc']).toBeGreaterThan(0.6)
  const { table } = await weightsIn(join(folder, `way ${name}`, '1'), 'ids')
  expect(table.dtype).toBe('bfloat16')
  if (name === 'alone') return
  const alone = await trainTiny(folder, [...HALVED, 'runner.epochs=1', 'runner.model_save_path='])
  expect(Math.abs(first.evaluation!['auc']! - alone.result.evaluation!['auc']!)).toBeLessThan(0.03)
})

test('one worker and two servers in sync have the rows that one process has; half_async trains too', async () => {
  const digestOf = async (mode: string) => {
    const overrides = [...HALVED, `runner.sync_mode=${mode}`, 'runner.model_save_path=']
    const path = join(folder, 'config.yaml')
    const job = await startJob({ path, workers: 1, servers: 2, overrides, options: { digest: true } })
    try {
      await job.success()
      const [result] = job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'result'))
      return result!['digest']
    } finally {
      job.kill()
    }
  }
  const alone = await trainTiny(folder, [...HALVED, 'runner.model_save_path='])
  expect(await digestOf('sync')).toBe(alone.result.digest)
  expect(await digestOf('half_async')).toMatch(/^[0-9a-f]{64}$/)
})

test('trainer threads that push together round by the same chance', async () => {
  const run = () =>
    trainTiny(folder, [...HALVED, 'runner.thread_num=2', 'runner.thread_mode=sync', 'runner.model_save_path='])
  expect((await run()).result.digest).toBe((await run()).result.digest)
})

test('geo refuses it', async () => {
  const overrides = [...HALVED, 'runner.sync_mode=geo', 'runner.model_save_path=']
  const job = await startJob({ path: join(folder, 'config.yaml'), workers: 1, servers: 1, overrides })
  try {
    const server = job.named('server 0')
    expect(await server.ended).not.toBe(0)
    expect(server.events.at(-1)).toMatchObject({
      code: 'TABLE_PRECISION',
      message: 'table_parameters.ids.row_precision: bfloat16 cannot be had in geo',
    })
  } finally {
    job.kill()
  }
})
