/** @file Dynamic training as a whole: rows of every kind, state, random numbers, threads, stopping and going on. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  const model = await readFile(new URL('./tiny.model.ts', import.meta.url), 'utf8')
  await writeFile(join(folder, 'dygraph_model.ts'), model.replace('../train/tiny.model.ts', './static_model.ts'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const NOT_SAVED = 'runner.model_save_path='

test.each(['False', 'True'])(
  'sequences and shared tables train as in a static graph, with batch norm: %s',
  async (norm) => {
    const overrides = [NOT_SAVED, 'runner.epochs=2', `hyper_parameters.norm=${norm}`]
    const fixed = await trainTiny(folder, overrides)
    const dynamic = await trainTiny(folder, overrides, { mode: 'dygraph' })
    for (const key of ['loss', 'auc']) {
      expect(dynamic.result.metrics[key]).toBeCloseTo(fixed.result.metrics[key]!, 6)
      expect(dynamic.result.evaluation![key]).toBeCloseTo(fixed.result.evaluation![key]!, 6)
    }
  },
)

test('with one thread a repeated run is bit-identical; with three the model is as good', async () => {
  const overrides = [NOT_SAVED, 'runner.epochs=3', 'hyper_parameters.norm=True']
  const [first, second] = [
    await trainTiny(folder, overrides, { mode: 'dygraph' }),
    await trainTiny(folder, overrides, { mode: 'dygraph' }),
  ]
  expect(second.result.digest).toBe(first.result.digest)
  const { result } = await trainTiny(folder, [...overrides, 'runner.thread_num=3'], { mode: 'dygraph' })
  expect(result.samples).toBe(3 * 960)
  expect(result.evaluation!['auc']).toBeGreaterThan(0.75)
})

test('a run stopped inside an epoch goes on bit for bit', async () => {
  const overrides = [`runner.model_save_path=${join(folder, 'saved')}`, 'hyper_parameters.norm=True']
  const whole = await trainTiny(folder, [NOT_SAVED, 'hyper_parameters.norm=True'], { mode: 'dygraph' })
  const controller = new AbortController()
  const stopped = await trainTiny(folder, overrides, {
    mode: 'dygraph',
    signal: controller.signal,
    emit: (event) => {
      if (event.kind === 'batch' && event.batch === 5) controller.abort()
    },
  })
  expect(stopped.result).toMatchObject({ interrupted: true })
  const resumed = await trainTiny(folder, overrides, { mode: 'dygraph', resume: true })
  expect(resumed.result.digest).toBe(whole.result.digest)
})
