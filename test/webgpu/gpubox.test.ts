/** @file The GPU parameter server on a device: a pass there ends as the same pass in memory does. */
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event, EventOf } from '../../src/base/event/index.ts'
import { loadModel } from '../../src/model/index.ts'
import { overPasses, train } from '../../src/training/driver/index.ts'
import { createSides } from '../../src/training/passes/index.ts'
import { openDeviceRows } from '../../src/training/step/index.ts'
import { createLocalParams, LocalParams } from '../../src/weights/params/index.ts'
import { copyRows, digestRows, SparseTable } from '../../src/weights/table/index.ts'
import { savedWeights } from '../train/global-batches.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { lacking, softwareAdapter } from './adapter.testing.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(64)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = (overrides: readonly string[]) =>
  loadConfig({ path: join(folder, 'config.yaml'), overrides: [...overrides], cwd: folder })

async function run(device: string, overrides: readonly string[]) {
  const events: Event[] = []
  const config = load([
    'runner.sync_mode=gpubox',
    'runner.reader_type=InmemoryDataset',
    'runner.train_batch_size=16',
    'runner.print_interval=1',
    `runner.device=${device}`,
    `runner.model_save_path=saved-${device}`,
    ...overrides,
  ])
  const result = await train({ config, emit: (event) => events.push(event) }, overPasses())
  const of = <K extends Event['kind']>(kind: K) => events.filter((event) => event.kind === kind) as EventOf<K>[]
  const losses = of('batch').flatMap(({ phase, metrics }) => (phase === 'train' ? [metrics['loss']!] : []))
  const weights = await savedWeights(folder, join(folder, `saved-${device}`, '0'), overrides)
  return { result, of, losses, weights }
}

describe.skipIf(lacking)('webgpu: the GPU parameter server', () => {
  // The tiny model has a pooled slot of several signs, a sequence, and one table for both.
  test.each(['adam', 'adagrad'])('%s: losses and rows are those of a pass in memory', async (kind) => {
    const own = [`hyper_parameters.optimizer=${kind}`, 'runner.epochs=1']
    const [device, memory] = [await run('webgpu', own), await run('cpu', own)]
    expect(device.of('notice').map(({ message }) => message)).not.toContainEqual(
      expect.stringMatching(/stay in memory/),
    )
    expect(device.losses).toHaveLength(3)
    for (const [i, loss] of device.losses.entries()) expect(loss).toBeCloseTo(memory.losses[i]!, 4)
    expect(device.weights).toHaveLength(memory.weights.length)
    for (const [i, weight] of device.weights.entries()) expect(weight).toBeCloseTo(memory.weights[i]!, 4)
    // To the device and back, and besides what a pass in memory moves.
    const [forecast] = device.of('forecast')
    const moved = device.of('passEnd')[0]!.bytesMoved - memory.of('passEnd')[0]!.bytesMoved
    expect(moved / (2 * forecast!.deviceBytes)).toBeGreaterThan(0.9)
    expect(moved / (2 * forecast!.deviceBytes)).toBeLessThan(1.1)
  })

  test('rows that a device cannot train stay in memory, and it is said why', async () => {
    const { of, losses } = await run('webgpu', ['hyper_parameters.lazy=False', 'runner.epochs=1'])
    expect(losses.every(Number.isFinite)).toBe(true)
    expect(of('notice').map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/Rows stay in memory.*: Adam moves every row of table ".*" in every step/),
    )
  })

  test('a pass without steps leaves every row as it was, bit for bit', async () => {
    const { train: program, optimizer } = await loadModel(load([]))
    const host = createLocalParams({ program, optimizer, seed: 1, threads: 1 })
    const sides = createSides(host.tables)
    const tables = sides[1].map((handle) => new SparseTable(handle, 0))
    const signs = BigUint64Array.from({ length: 1000 }, (_, i) => BigInt(i) * 0x9e3779b97f4a7c15n)
    for (const table of tables) {
      const rows = Uint8Array.from({ length: signs.length * table.rowBytes }, (_, i) => (i * 31) % 120)
      table.load(signs, rows)
    }
    const digests = () =>
      tables.map((table) => {
        const hash = createHash('sha256')
        digestRows(copyRows(table), hash)
        return hash.digest('hex')
      })
    const before = digests()
    const rows = await openDeviceRows({
      ...{ program, device: softwareAdapter(), params: new LocalParams(host, 0), thread: 0 },
      handle: { kind: 'pass', host, sides, device: { index: 0, count: 1 } },
      guard: (work) => work(),
    })
    try {
      const up = await rows.begin(1)
      expect(digests()).not.toEqual(before)
      const down = await rows.end()
      expect(digests()).toEqual(before)
      expect(up.bytes).toBe(down.bytes)
    } finally {
      await rows.close()
    }
  })
})
