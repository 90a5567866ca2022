/** @file Cuts of a job whose first worker has nothing to read: none takes the place of one that it builds on. */
import { readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Program } from '../../src/graph/program/index.ts'
import { rowsHere } from '../../src/training/driver/changed-rows.ts'
import { type Cut, CutWriter } from '../../src/training/driver/cut-writer.ts'
import { optimizer, stepFactors } from '../../src/weights/optim/index.ts'
import { createLocalParams, LocalParams } from '../../src/weights/params/index.ts'
import { loadSnapshot, newestSnapshots } from '../../src/weights/snapshot/index.ts'
import { tinyFolder } from './tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(64)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const DIM = 4
const SPEC = optimizer.adam()

function params(): LocalParams {
  const init = { kind: 'uniform', low: -1, high: 1 } as const
  const program: Program = {
    ...{ feeds: [], rows: [], nodes: [], fetches: [], state: [] },
    tables: [{ name: 'ids', dim: DIM, init }],
    parameters: [{ name: 'w', shape: [2], init, value: 0, dtype: 'float32', trainable: true }],
  }
  return new LocalParams(createLocalParams({ program, optimizer: SPEC, seed: 1, threads: 1, segments: 1 }), 0)
}

function train({ tables: [table] }: LocalParams, rows: number): void {
  const distinct = {
    signs: BigUint64Array.from({ length: rows }, (_, i) => BigInt(i + 1)),
    lengths: Uint32Array.of(rows),
  }
  table!.lookup(distinct, new Float32Array(rows * DIM), true, stepFactors(SPEC, 1))
  table!.update(distinct, new Float32Array(rows * DIM).fill(0.1), stepFactors(SPEC, 1))
}

const placeAt = (batch: number) => ({
  position: { epoch: 1, batch, chunk: 0, sample: 0 },
  input: { files: 1, bytes: 9, crc32: '00000000' },
})

test.each([
  [
    'the first of two workers stands still',
    [
      [0, 4],
      [0, 8],
      [0, 12],
    ],
  ],
  [
    'a smaller job counts fewer batches than the one before',
    [
      [8, 8, 8],
      [12, 12],
      [16, 16],
    ],
  ],
])('%s', async (_what, steps) => {
  const path = join(folder, `saved-${steps[0]!.length}`)
  const { config } = loadConfig({
    path: join(folder, 'config.yaml'),
    overrides: [`runner.model_save_path=${path}`, 'runner.snapshot_interval=4'],
  })
  const [model, writer, warnings] = [params(), new CutWriter(), [] as unknown[]]
  const emit = (event: { readonly kind: string }) => event.kind === 'warning' && warnings.push(event)
  model.tables[0]!.forgetChanges()
  for (const [i, batches] of steps.entries()) {
    train(model, i === 0 ? 2000 : 20)
    const position = { epoch: 1, batch: batches[0]!, chunk: 0, sample: 0 }
    await writer.begin({
      options: { config, program: 'p', files: [], resume: false, emit, params: model },
      trained: { position, metrics: {} },
      place: { position, workers: batches.map(placeAt) },
      ...rowsHere(model),
    } as unknown as Cut)
    await writer.settle()
  }
  const cuts = readdirSync(path).filter((name) => name.startsWith('cut-'))
  expect(new Set(cuts).size).toBe(steps.length)
  const broken: Error[] = []
  const [newest] = await newestSnapshots(path, (error) => broken.push(error))
  expect([broken, warnings]).toEqual([[], []])
  await loadSnapshot({ snapshot: newest!, params: params(), emit: () => undefined }) // what it is made of is whole
  expect(newest!.manifest.workers!.map(({ position }) => position.batch)).toEqual(steps.at(-1))
})
