/** @file Evaluation of saved epochs: the same numbers as training gave, in PaddleRec's order and words. */
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Event } from '../../src/base/event/index.ts'
import { inferTiny, type TinyRun, tinyFolder, trainTiny } from './tiny.testing.ts'

let folder: string
let trained: TinyRun
beforeAll(async () => {
  folder = await tinyFolder()
  trained = await trainTiny(folder, ['runner.epochs=3', 'hyper_parameters.lazy=False'])
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const evaluations = (events: readonly Event[]) =>
  events.flatMap((event) => (event.kind === 'epoch' && event.phase === 'infer' ? [[event.epoch, event.metrics]] : []))

test('every saved epoch gives the numbers that training gave after it', async () => {
  const { events, result } = await inferTiny(folder)
  expect(evaluations(events)).toEqual(evaluations(trained.events))
  expect(result.epochs.map(({ epoch }) => epoch)).toEqual([0, 1, 2])
  expect(result.samples).toBe(3 * 320)
  const kinds = events.map(({ kind }) => kind).filter((kind, i, all) => kind !== all[i - 1])
  const epoch = ['loaded', 'epochStart', 'batch', 'epoch']
  expect(kinds).toEqual(['start', 'notice', 'loaded', 'ready', ...epoch.slice(1), ...epoch, ...epoch, 'done'])
  expect(events.at(-1)).toMatchObject({ kind: 'done', metrics: result.epochs[2]!.metrics })
})

test('a range of epochs is evaluated, its end not included', async () => {
  const { events, result } = await inferTiny(folder, ['runner.infer_start_epoch=1', 'runner.infer_end_epoch=2'])
  expect(result.epochs.map(({ epoch }) => epoch)).toEqual([1])
  expect(events.some(({ kind }) => kind === 'notice')).toBe(false)
})

test('with several threads nothing but the order of batches changes', async () => {
  const { result } = await inferTiny(folder, ['runner.infer_thread_num=3', 'runner.infer_start_epoch=2'])
  expect(result.epochs[0]!.metrics['auc']).toBe(trained.result.evaluation!['auc'])
})

test('the optimizer of the configuration does not matter', async () => {
  const { events } = await inferTiny(folder, ['hyper_parameters.optimizer=adagrad'])
  expect(evaluations(events)).toEqual(evaluations(trained.events))
})

test('an epoch of another run, with fewer rows, is evaluated without the rows of the one before', async () => {
  const path = join(folder, 'mixed')
  const saving = `runner.model_save_path=${path}`
  await trainTiny(folder, [saving, 'runner.epochs=1'])
  const other = await tinyFolder(80)
  // Epoch 1 of a run on few samples: rows of epoch 0 are not in it.
  const few = await trainTiny(folder, [
    `runner.model_save_path=${path}/few`,
    `runner.train_data_dir=${other}/data/train`,
    'runner.seed=3',
    'runner.epochs=2',
  ])
  await cp(join(path, 'few', '1'), join(path, '1'), { recursive: true })
  const { result } = await inferTiny(folder, [`runner.infer_load_path=${path}`])
  expect(result.epochs[1]!.metrics['auc']).toBe(few.result.evaluation!['auc'])
  await rm(other, { recursive: true, force: true })
})

test('a model of another size is refused, naming what differs', async () => {
  const error = await inferTiny(folder, ['hyper_parameters.dim=4']).catch((reason) => reason)
  expect(error).toMatchObject({ code: 'SNAPSHOT_MISMATCH', where: { file: join(folder, 'model_output', '0') } })
  expect(error.message).toContain('table ids: dim 4 here, 3 in the checkpoint')
  expect(error.message).toContain('parameter hidden.weight: shape [14, 8] here, [11, 8] in the checkpoint')
})

test('a folder without saved epochs is refused, naming it', async () => {
  const error = await inferTiny(folder, ['runner.infer_load_path=nowhere']).catch((reason) => reason)
  expect(error).toMatchObject({ code: 'SNAPSHOT_MISSING', message: expect.stringContaining(join(folder, 'nowhere')) })
})
