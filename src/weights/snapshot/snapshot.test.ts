/** @file Checkpoints as folders: what is saved comes back, and what is not whole is refused by name. */
import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UserError } from '../../base/util/index.ts'
import type { Program } from '../../graph/program/index.ts'
import { type OptimizerSpec, optimizer, stepFactors } from '../optim/index.ts'
import { createLocalParams, LocalParams } from '../params/index.ts'
import {
  loadMeter,
  loadSnapshot,
  newestSnapshots,
  openSnapshot,
  pruneSnapshots,
  removeBegunCuts,
  type SnapshotState,
  savedEpochs,
  saveSnapshot,
} from './index.ts'
import { parseManifest } from './manifest.ts'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'oarfish-snapshot-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const emit = () => undefined
let folders = 0
const freshFolder = () => join(root, String(folders++), '0')

interface Sizes {
  readonly dim?: number
  readonly width?: number
  readonly spec?: OptimizerSpec
  readonly segments?: number
  readonly precision?: 'float32' | 'bfloat16'
}

/** A table, a second one that stays empty, a weight, a weight that is not trained, and state. */
function emptyParams({
  dim = 3,
  width = 5,
  spec = optimizer.adam(),
  segments = 1,
  precision,
}: Sizes = {}): LocalParams {
  const uniform = { kind: 'uniform', low: -1, high: 1 } as const
  const value = (name: string, shape: number[]) => ({ name, shape, init: uniform, value: 0, dtype: 'float32' as const })
  const program: Program = {
    ...{ feeds: [], rows: [], nodes: [], fetches: [] },
    tables: [
      { name: 'ids', dim, init: uniform },
      { name: 'none', dim: 1, init: uniform },
    ],
    parameters: [{ ...value('fixed', [2]), trainable: false }, value('hidden.w', [width, 3])],
    state: [{ ...value('norm.mean', [width]), merge: 'mean' }],
  }
  const tableParameters = { ids: { row_precision: precision } } as never
  const own = { program, optimizer: spec, tableParameters, seed: 1, threads: 1, segments }
  return new LocalParams(createLocalParams(own), 0)
}

/** The same with `rows` rows that have seen a step. */
function trainedParams(rows = 500, sizes: Sizes = {}): LocalParams {
  const params = emptyParams(sizes)
  const { dim = 3, spec = optimizer.adam() } = sizes
  const [table] = params.tables
  const distinct = {
    signs: BigUint64Array.from({ length: rows }, (_, i) => 2n ** 64n - 1n - BigInt(i) * 977n),
    lengths: Uint32Array.of(rows),
  }
  table!.lookup(distinct, new Float32Array(rows * dim), true, stepFactors(spec, 1))
  table!.update(
    distinct,
    new Float32Array(rows * dim).map((_, i) => Math.sin(i)),
    stepFactors(spec, 1),
  )
  params.dense.push(new Float32Array(params.dense.layout.floats).fill(0.5), stepFactors(spec, 1))
  params.dense.nextStep()
  return params
}

const STATE: SnapshotState = {
  program: 'abc',
  seed: 1,
  position: { epoch: 1, batch: 0, chunk: 0, sample: 0 },
  metrics: { loss: Number.NaN },
}

async function saved(folder: string, params: LocalParams, state: Partial<SnapshotState> = {}) {
  await saveSnapshot({ folder, params, state: { ...STATE, ...state }, emit })
}

const load = async (folder: string, params: LocalParams, otherOptimizer: 'refuse' | 'weights' = 'refuse') =>
  loadSnapshot({ snapshot: await openSnapshot(folder, 'test'), params, emit, otherOptimizer })

describe('a checkpoint', () => {
  test.each([
    ['SGD', optimizer.sgd()],
    ['Adam', optimizer.adam()],
    ['FTRL', optimizer.ftrl()],
  ])('brings back weights, state of %s, program state and step count', async (_, spec) => {
    const [folder, params] = [freshFolder(), trainedParams(500, { spec })]
    await saved(folder, params)
    const back = emptyParams({ spec })
    expect(back.digest()).not.toBe(params.digest())
    await load(folder, back)
    expect(back.digest()).toBe(params.digest())
    expect(back.dense.steps).toBe(1)
  })

  test('is larger than the pieces it is written in', async () => {
    const [folder, params] = [freshFolder(), trainedParams(200_000)]
    await saved(folder, params)
    expect((await stat(join(folder, 'table-0.part-0.rows'))).size).toBe(200_000 * params.tables[0]!.rowBytes)
    const back = emptyParams({ segments: 4 })
    await load(folder, back)
    expect(back.digest()).toBe(params.digest())
  })

  test('keeps the metrics of the epoch under way', async () => {
    const folder = freshFolder()
    const auc = new Float64Array(2 * 4097).map((_, i) => i % 7)
    const meter = {
      samples: 960,
      batches: 20,
      seconds: 1.25,
      sums: { loss: 0.1 + 0.2 },
      histograms: { auc },
      groups: { gauc: Float64Array.of(9, 0, 0, 0, 7, 1, 5, 2, 1) },
    }
    await saved(folder, trainedParams(), { meter })
    expect(await loadMeter(await openSnapshot(folder, 'test'))).toEqual(meter)
  })

  test('replaces the one before it as a whole and leaves nothing beside it', async () => {
    const folder = freshFolder()
    await saved(folder, trainedParams(10))
    await writeFile(join(folder, 'mine.txt'), 'from the one before')
    await mkdir(`${folder}.tmp-elsewhere-1-abc`)
    await saved(folder, trainedParams(20))
    expect((await openSnapshot(folder, 'test')).manifest.tables[0]).toMatchObject({ name: 'ids', rows: 20 })
    // What a process on another machine may still be writing is not touched.
    expect((await readdir(join(folder, '..'))).sort()).toEqual(['0', '0.tmp-elsewhere-1-abc'])
    expect(await readdir(folder)).not.toContain('mine.txt')
  })

  test('does not blame its folder for rows that do not come', async () => {
    const gone = new UserError('server[1] is gone', { code: 'NET_PEER_LOST' })
    const rows = () => Promise.reject(gone)
    const folder = freshFolder()
    await expect(saveSnapshot({ folder, params: emptyParams(), rows, state: STATE, emit })).rejects.toBe(gone)
    await expect(stat(folder)).rejects.toThrow('ENOENT')
  })

  test.each(['float32', 'bfloat16'] as const)(
    'gives its weights to another optimizer when asked to: %s',
    async (precision) => {
      const [folder, params] = [freshFolder(), trainedParams(500, { precision })]
      await saved(folder, params)
      const spec = optimizer.adagrad({ initialAccumulator: 0.5 })
      const back = emptyParams({ spec, precision })
      await load(folder, back, 'weights')
      const weights = ({ tables: [table] }: LocalParams) => {
        const rows = new Float32Array(3)
        const distinct = { signs: BigUint64Array.of(2n ** 64n - 1n), lengths: Uint32Array.of(1) }
        table!.lookup(distinct, rows, false, stepFactors(optimizer.adam(), 2))
        return [...rows]
      }
      expect(weights(back)).toEqual(weights(params))
      for (const { rows } of back.tables[0]!.scan()) {
        const first = precision === 'float32' ? 3 : 2
        expect([...new Float32Array(rows.slice().buffer).subarray(first, first + 3)]).toEqual([0.5, 0.5, 0.5])
      }
      expect(back.dense.steps).toBe(0)
    },
  )
})

describe('what is refused', () => {
  let whole: string
  beforeAll(async () => {
    whole = freshFolder()
    const meter = { samples: 1, batches: 1, seconds: 1, sums: {}, histograms: { auc: new Float64Array(2 * 4097) } }
    await saved(whole, trainedParams(), { meter })
  })
  const copy = async () => {
    const folder = freshFolder()
    await cp(whole, folder, { recursive: true })
    return folder
  }
  const refusal = async (folder: string, params = emptyParams()) => {
    try {
      await load(folder, params)
      await loadMeter(await openSnapshot(folder, 'test'))
      return undefined
    } catch (error) {
      return error
    }
  }
  const FILES = ['manifest.json', 'dense.bin', 'metrics.bin', 'table-0.part-0.signs', 'table-0.part-0.rows'] as const

  test('nothing, if nothing was done to it', async () => {
    expect(await refusal(await copy())).toBeUndefined()
  })

  test.each(FILES)('%s, when it is cut off', async (name) => {
    const folder = await copy()
    const file = join(folder, name)
    await truncate(file, (await stat(file)).size - 2)
    expect(await refusal(folder)).toMatchObject({ code: 'SNAPSHOT_DAMAGED', where: { file } })
  })

  test.each(FILES)('%s, when one bit of it was altered', async (name) => {
    const folder = await copy()
    const file = join(folder, name)
    const bytes = await readFile(file)
    bytes[bytes.length >> 1]! ^= 1
    await writeFile(file, bytes)
    expect(await refusal(folder)).toMatchObject({ code: 'SNAPSHOT_DAMAGED', where: { file } })
  })

  test.each(FILES.slice(1))('%s, when it is missing', async (name) => {
    const folder = await copy()
    await rm(join(folder, name))
    expect(await refusal(folder)).toMatchObject({ code: 'SNAPSHOT_DAMAGED', where: { file: join(folder, name) } })
  })

  test('another format and another version', async () => {
    const folder = await copy()
    const file = join(folder, 'manifest.json')
    await writeFile(file, '{"name": "some package"}')
    expect(await refusal(folder)).toMatchObject({ code: 'SNAPSHOT_FOREIGN', where: { file } })
    await writeFile(
      file,
      (await readFile(join(whole, 'manifest.json'), 'utf8')).replace('"version": 1', '"version": 9'),
    )
    expect(await refusal(folder)).toMatchObject({
      code: 'SNAPSHOT_FOREIGN',
      message: expect.stringContaining('version 9; this build reads version 1'),
    })
  })

  test('a folder without a manifest, naming the epochs beside it', async () => {
    const folder = await copy()
    expect(await refusal(join(folder, '..', '7'))).toMatchObject({
      code: 'SNAPSHOT_MISSING',
      message: expect.stringContaining('saved epochs: 0'),
    })
  })

  test('a model of another shape, naming all that differs', async () => {
    const error = await refusal(whole, emptyParams({ dim: 4, width: 6 }))
    expect(error).toMatchObject({ code: 'SNAPSHOT_MISMATCH' })
    expect((error as Error).message).toMatchInlineSnapshot(`
      "the checkpoint is of another model:
        table ids: dim 4 here, 3 in the checkpoint
        parameter hidden.w: shape [6, 3] here, [5, 3] in the checkpoint
        state norm.mean: shape [6] here, [5] in the checkpoint"
    `)
  })

  test('another optimizer, unless weights alone are asked for', async () => {
    const error = await refusal(whole, emptyParams({ spec: optimizer.adagrad() }))
    expect((error as Error).message).toContain('table ids: optimizer adagrad here, adam in the checkpoint')
    const lazy = await refusal(whole, emptyParams({ spec: optimizer.adam({ lazy: true }) }))
    expect((lazy as Error).message).toContain('"lazy":true')
  })
})

test('a manifest is read back as it was written, however it is laid out', async () => {
  const folder = freshFolder()
  await saved(folder, trainedParams())
  const text = await readFile(join(folder, 'manifest.json'), 'utf8')
  const { crc32: _, ...content } = JSON.parse(text)
  expect(parseManifest(JSON.stringify(JSON.parse(text)))).toEqual({ kind: 'whole', manifest: content })
})

test('the newest checkpoint is the one saved last; old ones go as asked', async () => {
  const path = join(root, 'many')
  for (const name of ['3', '0', '1', '2', 'interrupted']) await saved(join(path, name), trainedParams(1))
  expect((await newestSnapshots(path, emit))[0]?.folder).toBe(join(path, 'interrupted'))
  expect(await savedEpochs(path)).toEqual([0, 1, 2, 3])
  await pruneSnapshots(path, 2, 2)
  expect(await savedEpochs(path)).toEqual([1, 2, 3]) // 3 is of another run
  expect((await newestSnapshots(path, emit))[0]?.folder).toBe(join(path, '2'))
  expect(await newestSnapshots(join(root, 'nowhere'), emit)).toEqual([])
})

test('what a killed process had begun to write of cuts and of an interrupted epoch goes with the next start', async () => {
  const path = join(root, 'begun')
  const begun = ['cut-0-8.tmp-host-1-a', 'cut-0-8.old-host-1-a', 'interrupted.tmp-host-1-a']
  for (const name of [...begun, 'interrupted', 'notes.tmp-mine']) await mkdir(join(path, name), { recursive: true })
  await removeBegunCuts(path)
  expect((await readdir(path)).sort()).toEqual(['interrupted', 'notes.tmp-mine'])
})

const mountable = process.getuid?.() === 0 && canMount()
if (!mountable) console.warn('disk-full is skipped: it needs the right to mount a small tmpfs')

describe.skipIf(!mountable)('disk-full', () => {
  test('keeps the previous checkpoint and says how much was needed', async () => {
    const disk = join(root, 'disk')
    await mkdir(disk)
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk])
    try {
      const [folder, small] = [join(disk, '0'), trainedParams(100)]
      await saved(folder, small)
      const error = await saved(folder, trainedParams(30_000)).catch((reason) => reason)
      expect(error).toMatchObject({
        code: 'SNAPSHOT_DISK_FULL',
        message: expect.stringMatching(/needs 1\.\d MB, .* free/),
      })
      expect(await readdir(disk)).toEqual(['0'])
      const back = emptyParams()
      await load(folder, back)
      expect(back.digest()).toBe(small.digest())
    } finally {
      spawnSync('umount', [disk])
    }
  })
})

/** Containers often run as root without it. */
function canMount(): boolean {
  const probe = spawnSync('sh', [
    '-c',
    'd=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs "$d" && umount "$d" && rmdir "$d"',
  ])
  return probe.status === 0
}
