/** @file Training that goes wrong says so, with the key to change; training that goes well says nothing. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event, Link } from '../../src/base/event/index.ts'
import { generateCriteoLike } from '../../src/data/index.ts'
import { train } from '../../src/training/driver/index.ts'
import { startJob } from '../ps/job.testing.ts'
import { TRAIN_ONLY, tinyFolder } from './tiny.testing.ts'

let tiny: string
let criteo: string
beforeAll(async () => {
  tiny = await tinyFolder(80_000)
  criteo = await mkdtemp(join(tmpdir(), 'oarfish-warnings-'))
  generateCriteoLike({ rows: 40_000, seed: 1, parts: 4, format: 'slot', out: join(criteo, 'data'), force: true })
})
afterAll(() => Promise.all([tiny, criteo].map((folder) => rm(folder, { recursive: true, force: true }))))

/** Warnings of a run, but those about this machine. */
async function warningsOf(path: string, overrides: readonly string[]): Promise<readonly string[]> {
  const events: Event[] = []
  const shared = ['runner.train_batch_size=256', 'runner.model_save_path=', ...overrides]
  const config = loadConfig({ path, overrides: shared, cwd: criteo })
  await train({ config, emit: (event) => events.push(event) })
  return events.flatMap((event) => (event.kind === 'warning' ? [event.message] : []))
}

const criteoData = () => [
  ...['train', 'test'].map((part) => `runner.${part}_data_dir=${join(criteo, 'data', part)}`),
  'runner.print_interval=10',
]

const LARGE = 'hyper_parameters.learning_rate=5'
const LOWER = 'Most often the steps are too large: lower hyper_parameters.optimizer.learning_rate'

describe('a learning rate that is far too large', () => {
  test('is told by log loss, once', async () => {
    const path = fileURLToPath(new URL('../../models/rank/deepfm/config.yaml', import.meta.url))
    const large = ['hyper_parameters.optimizer.learning_rate=0.3', 'runner.epochs=2']
    const warnings = await warningsOf(path, [...criteoData(), ...large])
    const loss = warnings.filter((text) =>
      /^Log loss \(auc\) (rises, from \d.*|is too large): it is \d.* over the last \d+ samples/.test(text),
    )
    expect(loss).toHaveLength(1)
    expect(loss[0]).toContain(`${LOWER}. runner.training_warnings: False turns such warnings off.`)
  })

  test('is told by the size of rows, once', async () => {
    const warnings = await warningsOf(join(tiny, TRAIN_ONLY), [LARGE, 'runner.epochs=2'])
    const rows = warnings.filter((text) =>
      /^Rows of tables grow out of bounds: .* around \d+.*, of 0\.\d+ at first/.test(text),
    )
    expect(rows).toHaveLength(1)
  })

  test('is told with the keys of threads', async () => {
    const warnings = await warningsOf(join(tiny, TRAIN_ONLY), [LARGE, 'runner.thread_num=2'])
    expect(warnings.join('\n')).toContain(`${LOWER}, or set runner.thread_mode: sync.`)
  })

  test('is not told where runner.training_warnings is False', async () => {
    expect(await warningsOf(join(tiny, TRAIN_ONLY), [LARGE, 'runner.training_warnings=False'])).toEqual([])
  })

  test('is told by geo workers that drift apart', async () => {
    const keys = [
      ...['sync_mode=geo', 'geo_delta=share', 'geo_dense_step=20'],
      ...['train_batch_size=32', 'epochs=8', 'model_save_path='],
    ].map((key) => `runner.${key}`)
    const overrides = [...keys, 'hyper_parameters.learning_rate=1']
    const job = await startJob({ path: join(tiny, TRAIN_ONLY), workers: 2, servers: 1, overrides })
    try {
      await job.success()
      const said = job.processes.flatMap(({ events }) =>
        events.flatMap(({ message }) => (message ? [String(message)] : [])),
      )
      expect(said).toContainEqual(
        expect.stringMatching(
          /^The workers drift apart: between two exchanges the dense weights of this one went [\d.]+ times their own length/,
        ),
      )
      expect(said.join('\n')).toContain(`${LOWER}, or exchange more often: runner.geo_dense_step below 20.`)
    } finally {
      job.kill()
    }
  })
})

test('predictions that have nothing to do with how often it is clicked are told as COPC', async () => {
  const folder = join(criteo, 'seldom')
  mkdirSync(folder)
  for (const part of ['part-0', 'part-1', 'part-2']) {
    const text = readFileSync(join(tiny, 'data', 'train', part), 'utf8')
    // One in five of those who clicked still does.
    const seldom = text.replaceAll(/^click:1/gm, (word, at: number) => (at % 5 === 0 ? word : 'click:0'))
    writeFileSync(join(folder, part), seldom)
  }
  // Far too small a rate to learn that from a half, where predictions begin.
  const overrides = ['hyper_parameters.learning_rate=0.000001', `runner.train_data_dir=${folder}`]
  const warnings = await warningsOf(join(tiny, TRAIN_ONLY), overrides)
  expect(warnings.join('\n')).toMatch(
    /Predictions \(auc\) are off: of \d+ samples \d+ were clicks, \d+ were predicted \(COPC 0\.\d+\)\. Either the data is .* change hyper_parameters\.optimizer\.learning_rate/,
  )
})

describe('training that goes well says nothing', () => {
  test.each(['dnn', 'deepfm', 'dcn_v2', 'wide_deep', 'fm', 'logistic_regression'])('models/rank/%s', async (model) => {
    const path = fileURLToPath(new URL(`../../models/rank/${model}/config.yaml`, import.meta.url))
    expect(await warningsOf(path, [...criteoData(), 'runner.epochs=1'])).toEqual([])
  })

  test('geo of 2 workers', async () => {
    const overrides = ['runner.sync_mode=geo', 'runner.train_batch_size=256', 'runner.model_save_path=']
    const job = await startJob({ path: join(tiny, TRAIN_ONLY), workers: 2, servers: 1, overrides })
    try {
      await job.success()
      expect(job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'warning'))).toEqual([])
      // What dense weights and exchanges of rows bring to the server and back is told as in the other modes.
      const batches = job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'batch'))
      const links = batches.flatMap((event) => (event['links'] as readonly Link[] | undefined) ?? [])
      expect(links).toContainEqual(expect.objectContaining({ to: 'server-0', busy: expect.any(Number) }))
      expect(Math.max(...links.map(({ sentBytesPerSecond: sent }) => sent))).toBeGreaterThan(0)
      expect(Math.max(...links.map(({ receivedBytesPerSecond: received }) => received))).toBeGreaterThan(0)
    } finally {
      job.kill()
    }
  })
})
