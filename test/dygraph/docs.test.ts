/** @file The model of docs/guide/dygraph.md, through the command line. */
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { oarfish } from '../oarfish.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-dygraph-docs-'))
  const docs = readFileSync(new URL('../../docs/guide/dygraph.md', import.meta.url), 'utf8')
  await writeFile(join(folder, 'dygraph_model.ts'), /```ts\n([\s\S]*?)```/.exec(docs)![1]!)
  await writeFile(join(folder, 'config.yaml'), CONFIG)
  await mkdir(join(folder, 'data'))
  const lines = Array.from({ length: 2000 }, (_, i) => `click:${i % 2} item:${(i % 2) + 10 * (i % 7)}`)
  await writeFile(join(folder, 'data', 'part-0'), `${lines.join('\n')}\n`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const CONFIG = `runner:
  train_data_dir: data
  test_data_dir: data
  train_batch_size: 50
  epochs: 5
  thread_num: 2
  model_save_path: saved
  infer_start_epoch: 4
  infer_end_epoch: 5
  infer_load_path: saved
`

test('the example trains with two threads, and its checkpoint is evaluated', async () => {
  expect(await oarfish(['check', '-m', 'config.yaml', '--mode', 'dygraph'], folder)).toMatchObject({ code: 0, err: '' })
  const trained = await oarfish(['train', '-m', 'config.yaml', '--mode', 'dygraph', '--json'], folder)
  expect([trained.code, trained.err]).toEqual([0, ''])
  const done = JSON.parse(trained.out.trim().split('\n').at(-1)!)
  expect(done).toMatchObject({ kind: 'done', samples: 10_000 })
  expect(done.evaluation.auc).toBeGreaterThan(0.9)
  expect(done.breakdown.read).toBeGreaterThan(0)
  const inferred = await oarfish(['infer', '-m', 'config.yaml', '--mode', 'dygraph', '--json'], folder)
  expect([inferred.code, inferred.err]).toEqual([0, ''])
  expect(JSON.parse(inferred.out.trim().split('\n').at(-1)!).metrics.loss).toBeCloseTo(done.evaluation.loss, 6)
})

test('a folder without the file says which one is missing, and a mode that does not exist which there are', async () => {
  const missing = await oarfish(['train', '-m', 'config.yaml'], folder)
  expect(missing.code).toBe(2)
  expect(missing.err).toContain('static_model.ts')
  const typo = await oarfish(['train', '-m', 'config.yaml', '--mode', 'dygrph'], folder)
  expect(typo.code).toBe(2)
  expect(typo.err).toContain('--mode: expected static | dygraph, got "dygrph" - did you mean "dygraph"?')
})

test('a hyper-parameter that miscounts the slots of a dynamic model is named with its right value', async () => {
  const path = fileURLToPath(new URL('../../models/rank/dnn/config.yaml', import.meta.url))
  const args = ['check', '-m', path, '--mode', 'dygraph', '-o', 'hyper_parameters.dense_input_dim=12']
  const { code, err } = await oarfish(args, folder)
  expect(code).toBe(2)
  expect(err).toMatch(/dense_input_dim[\s\S]*13/)
})
