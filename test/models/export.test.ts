/** @file Models beyond criteo's slots are exported, and score from text and from one folded file as the trainer does. */

import { mkdtempSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { openModel } from '../../src/graph/engine/index.ts'
import { type Instance, openExport, predict } from '../../src/inference/export/index.ts'
import { exportCheckpoint, train } from '../../src/training/driver/index.ts'
import { foldedInputs } from '../export/exported.testing.ts'

/** What a sample must have in text; the rest is only for training. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  'multitask/mmoe': ['input'],
  'multitask/esmm': Array.from({ length: 23 }, (_, i) => `field_${i}`),
  'match/dssm': ['query', 'doc_pos'],
  'recall/ncf': ['user_input', 'item_input'],
  'recall/gru4rec': ['src_wordseq'],
  'recall/word2vec': ['input_word'],
  'rank/din': ['hist_item_seq', 'hist_cat_seq', 'target_item', 'target_cat'],
}

const scratch = mkdtempSync(join(tmpdir(), 'oarfish-models-'))
afterAll(() => rm(scratch, { recursive: true, force: true }))

describe.each(Object.entries(NEEDED))('%s', (name, needed) => {
  test('scores as the trainer does', async () => {
    const config = loadConfig({
      path: fileURLToPath(new URL(`../../models/${name}/config.yaml`, import.meta.url)),
      overrides: ['runner.epochs=1', `runner.model_save_path=${join(scratch, name, 'saved')}`],
    })
    await train({ config, emit: () => {} })
    const out = join(scratch, name, 'exported')
    const manifest = await exportCheckpoint({ config, out, fold: true, emit: () => {} })
    expect(manifest.slots.flatMap((slot) => (slot.needed ? [slot.name] : []))).toEqual(needed)

    const samples = JSON.parse(await readFile(join(out, manifest.samples), 'utf8'))
    expect(new Set(samples.scores).size).toBeGreaterThan(2) // the model tells samples apart
    const scores: number[] = []
    for await (const scored of predict({ model: out, input: asText(samples.instances) })) scores.push(...scored.scores)
    expectClose(scores, samples.scores)

    const known = samples.instances.slice(0, -1) // the last one has ids that no table has
    const { manifest: read } = await openExport(out)
    const session = await openModel(await readFile(join(out, read.folded!.file)))
    const { data, dims } = (await session.run(foldedInputs(read, known)))[read.score.output]!
    const columns = data.length / dims[0]!
    expectClose(
      known.map((_: Instance, i: number) => Number(data[i * columns + read.score.column]!)),
      samples.scores.slice(0, -1),
    )
    await session.close()
  })
})

test('histories of unequal lengths are padded alike, in training and in an export', async () => {
  const folder = join(scratch, 'unequal')
  await mkdir(join(folder, 'data'), { recursive: true })
  const lines = Array.from({ length: 40 }, (_, i) => {
    const of = (slot: string, count: number) => Array.from({ length: count }, (_, k) => `${slot}:${(i + k) % 9}`)
    const histories = [...of('hist_item_seq', 1 + (i % 6)), ...of('hist_cat_seq', 1 + ((i * 3) % 5))]
    return `${histories.join(' ')} target_item:${i % 9} target_cat:${i % 3} label:${i % 2}`
  })
  await writeFile(join(folder, 'data', 'part-000'), `${lines.join('\n')}\n`)
  const overrides = [
    ...[`runner.train_data_dir=${join(folder, 'data')}`, `runner.test_data_dir=${join(folder, 'data')}`],
    ...[`runner.model_save_path=${join(folder, 'saved')}`, 'runner.epochs=1', 'runner.use_inference=True'],
    ...['runner.train_batch_size=8', 'runner.infer_batch_size=7'],
  ]
  const path = fileURLToPath(new URL('../../models/rank/din/config.yaml', import.meta.url))
  const { evaluation } = await train({ config: loadConfig({ path, overrides }), emit: () => {} })
  const model = join(folder, 'saved', '0', 'inference')
  const losses: number[] = []
  for await (const { scores } of predict({ model, input: join(folder, 'data', 'part-000') }))
    for (const [i, score] of scores.entries()) losses.push(-Math.log(i % 2 === 1 ? score : 1 - score))
  expect(losses.reduce((a, b) => a + b, 0) / losses.length).toBeCloseTo(evaluation!['loss']!, 5)
})

/** Instances as slot text. */
async function* asText(instances: readonly Instance[]): AsyncGenerator<Uint8Array> {
  const lines = instances.map((instance) =>
    Object.entries(instance).flatMap(([slot, values]) => values.map((value) => `${slot}:${value}`)),
  )
  yield Buffer.from(lines.map((line) => `${line.join(' ')}\n`).join(''))
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length)
  for (const [i, value] of expected.entries()) expect(actual[i]).toBeCloseTo(value, 5)
}
