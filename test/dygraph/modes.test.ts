/** @file One net, two modes: the models train alike as static and as dynamic graphs. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import type { GraphMode } from '../../src/model/index.ts'
import { infer, type TrainResult, train } from '../../src/training/driver/index.ts'

const MODELS = [
  ...['rank/dnn', 'rank/wide_deep', 'rank/deepfm', 'rank/fm', 'rank/logistic_regression', 'rank/dcn_v2', 'rank/din'],
  ...['multitask/mmoe', 'multitask/esmm', 'match/dssm', 'recall/ncf', 'recall/gru4rec', 'recall/word2vec'],
  // Layers that the others do not have: batch norm and pairs, attention, AUGRU, capsules.
  ...['rank/dlrm', 'rank/bst', 'rank/dien', 'recall/mind'],
]

let scratch: string
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'oarfish-modes-'))
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

describe.each(MODELS)('%s', (name) => {
  test('has the same losses and metrics in both modes', async () => {
    const fixed = await run('static', name)
    const dynamic = await run('dygraph', name)
    expect(dynamic.losses).toHaveLength(fixed.losses.length)
    expect(fixed.losses.length).toBeGreaterThan(15)
    for (const [i, loss] of fixed.losses.entries()) expect(Math.abs(dynamic.losses[i]! - loss)).toBeLessThan(1e-6)
    for (const part of ['metrics', 'evaluation'] as const) {
      const [own, other] = [fixed.result[part]!, dynamic.result[part]!]
      expect(Object.keys(other)).toEqual(Object.keys(own))
      for (const [metric, value] of Object.entries(own)) expect(other[metric], metric).toBeCloseTo(value, 6)
    }
  })
})

describe('a checkpoint of one mode', () => {
  test.each([
    ['static', 'dygraph'],
    ['dygraph', 'static'],
  ] as const)('of %s is evaluated by the other and trained on by it', async (from, to) => {
    const save = `runner.model_save_path=${join(scratch, from)}`
    const first = await run(from, 'rank/dnn', [save])
    const config = configOf('rank/dnn', [`runner.infer_load_path=${join(scratch, from)}`])
    const evaluated = await infer({ config, emit: () => {}, mode: to })
    expect(evaluated.epochs[0]!.metrics['loss']).toBeCloseTo(first.result.evaluation!['loss']!, 6)
    const second = await run(to, 'rank/dnn', [save, 'runner.epochs=2'], true)
    const whole = await run(to, 'rank/dnn', ['runner.epochs=2'])
    expect(second.result.digest).toBe(whole.result.digest)
  })
})

test('a model for inference is written after dynamic training, as a static graph', async () => {
  const folder = join(scratch, 'exported')
  await run('dygraph', 'rank/deepfm', [`runner.model_save_path=${folder}`, 'runner.use_inference=True'])
  const { samples } = JSON.parse(await readFile(join(folder, '0', 'inference', 'manifest.json'), 'utf8'))
  expect(samples).toBeDefined()
})

async function run(mode: GraphMode, name: string, overrides: readonly string[] = [], resume = false) {
  const losses: number[] = []
  const emit = (event: Event) => {
    if (event.kind === 'batch' && event.phase === 'train') losses.push(event.metrics['loss']!)
  }
  const config = configOf(name, overrides)
  const result: TrainResult = await train({ config, emit, mode, resume, digest: true })
  return { losses, result }
}

function configOf(name: string, overrides: readonly string[]) {
  const path = fileURLToPath(new URL(`../../models/${name}/config.yaml`, import.meta.url))
  const base = ['runner.epochs=1', 'runner.print_interval=1', 'runner.model_save_path=']
  return loadConfig({ path, overrides: [...base, ...overrides] })
}
