/** @file Real processes that train one model in step: against one process over the same global batches, with each other, and when one fails. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BATCH, savedWeights, writeGlobalBatches } from '../train/global-batches.testing.ts'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { expectWithin } from '../within.testing.ts'
import { startRanks, stopOne, training, trainTogether } from './training.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

const MODEL = `
import { optimizer, z } from 'oarfish'
import { concat, mean } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
import { fleet } from 'oarfish/fleet'
export const hyperParameters = z.strictObject({ rule: z.enum(['sgd', 'adam', 'clipped', 'fleet']) })
export class StaticModel {
  constructor(hyper) { this.rule = hyper.rule }
  createFeeds({ label, sparse, dense }) { return { click: label('click'), user: sparse('user'), item: sparse('item', { required: false }), x: dense('x', 2) } }
  net({ click, user, item, x }) {
    const rows = nn.embedding([user, item], { name: 'rows', dim: 4 })
    const wide = nn.embedding([user, item], { name: 'wide', dim: 1 })
    const hidden = nn.linear(concat([rows, wide, x], 1), { name: 'hidden', out: 8, activation: 'tanh' })
    return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(hidden, { name: 'out', out: 1 }), click)) }
  }
  createOptimizer(strategy) {
    if (this.rule === 'adam') return optimizer.adam({ learningRate: 0.001, lazy: true })
    const plain = optimizer.sgd({ learningRate: 0.05, ...(this.rule === 'clipped' && { clip: { kind: 'global_norm', max: 0.1 } }) })
    return this.rule === 'fleet' ? fleet.distributedOptimizer(plain, strategy) : plain
  }
}
`

const CONFIG = `
runner:
  train_data_dir: data/train
  train_batch_size: 6
  model_save_path: ""
hyper_parameters:
  rule: sgd
`

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(160)
  await writeFile(join(folder, 'static_model.ts'), MODEL)
  await writeFile(join(folder, 'config.yaml'), CONFIG)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test.each([
  ['sgd', 2, 200, 'whole'],
  ['adam', 2, 20, 'whole'],
  ['sgd', 3, 200, 'divided'],
  ['clipped', 2, 50, 'divided'],
] as const)(
  '%s on %i ranks is within 1e-5 of one process after %i steps, tables %s',
  async (rule, size, steps, way) => {
    const name = `${rule}-${size}-${way}`
    await writeGlobalBatches(join(folder, name), size, steps)
    const common = [`hyper_parameters.rule=${rule}`, `runner.replicated_table_mb=${way === 'divided' ? 0 : 256}`]
    const single = [...common, `runner.train_data_dir=${folder}/${name}/all`, `runner.train_batch_size=${size * BATCH}`]
    await trainTiny(folder, [...single, `runner.model_save_path=${folder}/${name}/single`])
    const ranks = await trainTogether({
      ...{ folder, size, overrides: [...common, `runner.model_save_path=${folder}/${name}/ranks`] },
      own: Array.from({ length: size }, (_, rank) => [`runner.train_data_dir=${folder}/${name}/${rank}`]),
    })
    expect(new Set(ranks.map(({ digest }) => digest)).size).toBe(1)
    expect(ranks[0]!.notices).toContainEqual(expect.stringContaining(way === 'divided' ? 'is divided' : 'is whole'))
    const [expected, found] = [
      await savedWeights(folder, `${folder}/${name}/single/0`, single),
      await savedWeights(folder, `${folder}/${name}/ranks/0`, single),
    ]
    expect(found.length).toBe(expected.length)
    expect(Math.max(...found.map((value, i) => Math.abs(value - expected[i]!)))).toBeLessThan(1e-5)
  },
)

test('runs repeat bit for bit, whole or divided alike; fleet.distributedOptimizer by hand gives the same; metrics are of all ranks', async () => {
  const run = (...overrides: string[]) => trainTogether({ folder, size: 2, overrides })
  const [first, again, divided, byHand] = [
    await run(),
    await run(),
    await run('runner.replicated_table_mb=0'),
    await run('hyper_parameters.rule=fleet'),
  ]
  expect(again[0]!.digest).toBe(first[0]!.digest)
  expect(divided[0]!.digest).toBe(first[0]!.digest)
  expect(byHand[0]!.digest).toBe(first[0]!.digest)
  const wrapped = ({ notices }: { notices: readonly string[] }) =>
    notices.filter((text) => text.includes('is taken as'))
  expect([wrapped(first[0]!).length, wrapped(byHand[0]!).length]).toEqual([1, 0])
  expect(first.map(({ samples }) => samples)).toEqual([120, 120])
  expect(first[1]!.metrics).toEqual(first[0]!.metrics)
  expect(first[0]!.notices).toContainEqual(
    expect.stringMatching(/2 ranks have read 120 samples, each of .* chunks once/),
  )
})

test('a rank with a third of the data ends with the others', async () => {
  await writeGlobalBatches(join(folder, 'short'), 1, 10)
  await writeGlobalBatches(join(folder, 'long'), 1, 30)
  const own = ['short', 'long'].map((name) => [`runner.train_data_dir=${folder}/${name}/all`])
  const ranks = await trainTogether({ folder, size: 2, own })
  expect(ranks.map(({ samples }) => samples)).toEqual([240, 240])
  expect(ranks[1]!.digest).toBe(ranks[0]!.digest)
})

test('a checkpoint of two ranks goes on with three, and with one', async () => {
  const save = (name: string) => `runner.model_save_path=${folder}/${name}`
  const divided = 'runner.replicated_table_mb=0'
  await trainTogether({ folder, size: 2, overrides: [save('two'), divided] })
  const three = await trainTogether({
    ...{ folder, size: 3, overrides: [save('two'), divided, 'runner.epochs=2'], flags: ['--resume'] },
  })
  expect(three[0]!.samples).toBe(120)
  expect(three[2]!.digest).toBe(three[0]!.digest)
  const one = await trainTiny(folder, [save('two'), 'runner.epochs=3'], { resume: true })
  expect(one.result.samples).toBe(120)
})

test('ranks of which one is asked to stop go on where they were, bit for bit as if nothing had been', async () => {
  await writeGlobalBatches(join(folder, 'many'), 1, 1500)
  const common = [`runner.train_data_dir=${folder}/many/all`, 'runner.print_interval=5']
  const overrides = [...common, `runner.model_save_path=${folder}/stopped`]
  const stopped = await startRanks({ folder, size: 2, overrides })
  await stopOne(stopped)
  const before = Number(stopped[0]!.events.find(({ kind }) => kind === 'interrupted')!['samples'])
  expect(before).toBeLessThan(1500 * BATCH)
  const resumed = await trainTogether({ folder, size: 2, overrides, flags: ['--resume'] })
  const whole = await trainTogether({ folder, size: 2, overrides: common })
  for (const { samples, digest, metrics } of resumed) {
    expect(before + samples).toBe(whole[0]!.samples)
    expect(digest).toBe(whole[0]!.digest)
    expect(metrics['loss']).toBeCloseTo(whole[0]!.metrics['loss']!, 9)
  }
})

const READER = `
import { BaseRecDataset, getRank, getWorldSize } from 'oarfish'
export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator]() {
    const [rank, size] = [getRank(), getWorldSize()]
    let i = 0
    for await (const line of this.lines()) {
      if (i++ % size !== rank) continue
      const values = line.split(/[ :]/)
      yield { click: Number(values[1]), user: [values[3]], item: [values[5]], x: [Number(values[7]), Number(values[9])] }
    }
  }
}
`

test('a reader that asks for its rank is given all files and divides them itself', async () => {
  await writeGlobalBatches(join(folder, 'asked'), 1, 5)
  await writeFile(join(folder, 'reader.ts'), READER)
  const overrides = [`runner.train_data_dir=${folder}/asked/all`, 'runner.train_reader_path=reader']
  const ranks = await trainTogether({ folder, size: 2, overrides })
  expect(ranks[0]!.notices).toContainEqual(expect.stringContaining('divides them itself'))
  expect(ranks[0]!.notices).toContainEqual(expect.stringContaining('as many as the files have lines'))
  expect(ranks[1]!.digest).toBe(ranks[0]!.digest)
})

test('ranks with different settings name the key', async () => {
  const ranks = await startRanks({ folder, size: 2, own: [[], ['runner.seed=9']] })
  for (const { ended, events } of ranks) {
    const { code } = await ended
    expect(code).not.toBe(0)
    expect(JSON.stringify(events.at(-1))).toMatch(/COLLECTIVE_(CONFIG|RANK_STOPPED).*runner\.seed/)
  }
})

test('a rank that is killed in a step is named, and the others stop within 5 s', async () => {
  await writeGlobalBatches(join(folder, 'endless'), 1, 2000)
  const overrides = [`runner.train_data_dir=${folder}/endless/all`, 'runner.epochs=500', 'runner.print_interval=10']
  const ranks = await startRanks({ folder, size: 2, overrides })
  await training(ranks)
  const killed = performance.now()
  ranks[1]!.child.kill('SIGKILL')
  const { code } = await ranks[0]!.ended
  await expectWithin(performance.now() - killed, 5000)
  expect(code).not.toBe(0)
  expect(JSON.stringify(ranks[0]!.events.at(-1))).toMatch(/COLLECTIVE_RANK_LOST.*rank\W?1/)
})
