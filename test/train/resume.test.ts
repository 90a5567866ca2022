/** @file A run that was stopped and goes on must end where the run that was never stopped ends, bit for bit. */
import { appendFile, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../../src/base/event/index.ts'
import { tinyFolder, trainTiny } from './tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let runs = 0
/** Overrides that save in a folder of the test's own. */
const savingTo = (path: string, ...overrides: string[]) => [`runner.model_save_path=${path}`, ...overrides]
const freshPath = () => join(folder, `saved-${runs++}`)

/** Trains until the event that `when` picks, then asks to stop. */
async function stopAt(overrides: readonly string[], when: (event: Event) => boolean, resume = false) {
  const controller = new AbortController()
  const events: Event[] = []
  const run = await trainTiny(folder, overrides, {
    resume,
    signal: controller.signal,
    emit: (event) => {
      events.push(event)
      if (when(event)) controller.abort()
    },
  })
  return { ...run, events }
}

const atBatch = (epoch: number, batch: number) => (event: Event) =>
  event.kind === 'batch' && event.phase === 'train' && event.epoch === epoch && event.batch >= batch
const find = <K extends Event['kind']>(events: readonly Event[], kind: K) =>
  events.find((event): event is Extract<Event, { kind: K }> => event.kind === kind)

const MODELS = {
  'lazy Adam': [],
  'Adam that is not lazy': ['hyper_parameters.lazy=False'],
  'batch norm and dropout': ['hyper_parameters.norm=True'],
  Adagrad: ['hyper_parameters.optimizer=adagrad'],
}

describe.each(Object.entries(MODELS))('with %s', (_, model) => {
  test('three epochs are one epoch and two more after a resume', async () => {
    const whole = await trainTiny(folder, savingTo(freshPath(), 'runner.epochs=3', ...model))
    const path = freshPath()
    await trainTiny(folder, savingTo(path, 'runner.epochs=1', ...model))
    const resumed = await trainTiny(folder, savingTo(path, 'runner.epochs=3', ...model), { resume: true })
    expect(resumed.result).toMatchObject({ samples: 2 * 960 })
    expect(resumed.result.digest).toBe(whole.result.digest)
    expect(resumed.result.metrics).toEqual(whole.result.metrics)
    expect(resumed.result.evaluation).toEqual(whole.result.evaluation)
    const again = await trainTiny(folder, savingTo(path, 'runner.epochs=3', 'runner.last_epoch=1', ...model))
    expect(again.result.digest).toBe(whole.result.digest)
  })

  test('a run stopped twice inside an epoch loses nothing', async () => {
    const settings = ['runner.epochs=2', 'runner.print_interval=1', ...model]
    const whole = await trainTiny(folder, savingTo(freshPath(), ...settings))
    const path = freshPath()
    const first = await stopAt(savingTo(path, ...settings), atBatch(1, 3))
    expect(first.result.interrupted).toBe(true)
    const stopped = find(first.events, 'interrupted')!
    expect(stopped).toMatchObject({ epoch: 1, path: join(path, 'interrupted') })
    const second = await stopAt(savingTo(path, ...settings), atBatch(1, stopped.batch + 4), true)
    expect(find(second.events, 'batch')).toMatchObject({ epoch: 1, batch: stopped.batch + 1 })
    const last = await trainTiny(folder, savingTo(path, ...settings), { resume: true })
    expect(last.result.digest).toBe(whole.result.digest)
    expect(last.result.metrics).toEqual(whole.result.metrics)
    expect(last.result.evaluation).toEqual(whole.result.evaluation)
    const epoch = last.events.find((event) => event.kind === 'epoch' && event.phase === 'train')
    expect(epoch).toMatchObject({ epoch: 1, samples: 960 })
    expect((await readdir(path)).sort()).toEqual(['0', '1'])
  })
})

describe('a stopped run', () => {
  test('with several threads applies every batch once', async () => {
    const settings = savingTo(freshPath(), 'runner.thread_num=3', 'runner.print_interval=1')
    const first = await stopAt(settings, atBatch(0, 2))
    const rest = await trainTiny(folder, settings, { resume: true })
    expect(first.result.samples + rest.result.samples).toBe(960)
    expect(rest.events.find(({ kind }) => kind === 'epoch')).toMatchObject({ samples: 960 })
  })

  test('during evaluation goes on with the next epoch', async () => {
    const path = freshPath()
    const settings = savingTo(path, 'runner.epochs=2')
    const whole = await trainTiny(folder, savingTo(freshPath(), 'runner.epochs=2', 'hyper_parameters.lazy=False'))
    const lazy = [...settings, 'hyper_parameters.lazy=False']
    const first = await stopAt(lazy, (event) => event.kind === 'batch' && event.phase === 'infer')
    expect(find(first.events, 'interrupted')).toMatchObject({ epoch: 0, path: join(path, '0') })
    const rest = await trainTiny(folder, lazy, { resume: true })
    expect(rest.result.digest).toBe(whole.result.digest)
  })

  test('refuses to go on inside an epoch whose data changed', async () => {
    const other = await tinyFolder(320)
    const settings = [`runner.train_data_dir=${other}/data/train`, 'runner.print_interval=1']
    const path = freshPath()
    await stopAt(savingTo(path, ...settings), atBatch(0, 1))
    await appendFile(join(other, 'data', 'train', 'part-1'), 'click:1 user:4 x:0.1 x:0.2\n')
    const error = await trainTiny(folder, savingTo(path, ...settings), { resume: true }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'SNAPSHOT_INPUT_CHANGED', where: { file: join(path, 'interrupted') } })
    await rm(other, { recursive: true, force: true })
  })

  test('saves nothing where model_save_path is empty', async () => {
    const { events } = await stopAt(savingTo('', 'runner.print_interval=1'), atBatch(0, 1))
    expect(find(events, 'interrupted')).not.toHaveProperty('path')
    const error = await trainTiny(folder, savingTo(''), { resume: true }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'SNAPSHOT_MISSING', message: expect.stringContaining('model_save_path') })
  })
})

describe('resuming', () => {
  test('starts from the beginning where nothing was saved, and says so', async () => {
    const { events, result } = await trainTiny(folder, savingTo(freshPath()), { resume: true })
    expect(result.samples).toBe(960)
    expect(find(events, 'notice')?.message).toContain('Nothing to resume')
  })

  test('has nothing to do after the last epoch, and says so', async () => {
    const path = freshPath()
    const first = await trainTiny(folder, savingTo(path))
    const { events, result } = await trainTiny(folder, savingTo(path), { resume: true })
    expect(result).toMatchObject({ samples: 0, digest: first.result.digest })
    expect(find(events, 'notice')?.message).toContain('raise runner.epochs')
  })

  test('passes over a broken checkpoint with a warning and takes the one before', async () => {
    const path = freshPath()
    const whole = await trainTiny(folder, savingTo(path, 'runner.epochs=3'))
    await rm(join(path, '2', 'dense.bin'))
    const { events, result } = await trainTiny(folder, savingTo(path, 'runner.epochs=3'), { resume: true })
    expect(find(events, 'warning')?.message).toContain(join(path, '2', 'dense.bin'))
    expect(find(events, 'loaded')).toMatchObject({ path: join(path, '1'), epoch: 1 })
    expect(result.digest).toBe(whole.result.digest)
  })

  test('takes what was saved last, not what has the highest number', async () => {
    const path = freshPath()
    await trainTiny(folder, savingTo(path, 'runner.epochs=3'))
    await trainTiny(folder, savingTo(path, 'runner.epochs=1'))
    const { events } = await trainTiny(folder, savingTo(path, 'runner.epochs=2'), { resume: true })
    expect(find(events, 'loaded')).toMatchObject({ epoch: 0 })
  })

  test('warns when seed or learning rate are not those of the checkpoint', async () => {
    const path = freshPath()
    await trainTiny(folder, savingTo(path))
    const others = ['runner.epochs=2', 'runner.seed=7', 'hyper_parameters.learning_rate=0.01']
    const { events } = await trainTiny(folder, savingTo(path, ...others), { resume: true })
    const message = find(events, 'warning')?.message
    expect(message).toContain('runner.seed: 7 here, 12345 in the checkpoint')
    expect(message).toContain('learningRate 0.01 here, 0.05 in the checkpoint')
  })

  test('names the epoch that is not there and those that are', async () => {
    const path = freshPath()
    await trainTiny(folder, savingTo(path))
    const error = await trainTiny(folder, savingTo(path, 'runner.last_epoch=4')).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'SNAPSHOT_MISSING', message: expect.stringContaining('saved epochs: 0') })
  })
})

describe('a saved model to start from', () => {
  test('gives its weights and optimizer state', async () => {
    const path = freshPath()
    const first = await trainTiny(folder, savingTo(path))
    const both = savingTo(freshPath(), `runner.model_init_path=${path}/0`)
    const { events, result } = await trainTiny(folder, both)
    expect(result.samples).toBe(960)
    expect(find(events, 'loaded')).toMatchObject({ path: join(path, '0') })
    expect(result.metrics['loss']).toBeLessThan(first.result.metrics['loss']!)
    // PaddleRec's way to resume: a model to start from and the number of its epoch.
    const whole = await trainTiny(folder, savingTo(freshPath(), 'runner.epochs=2'))
    const resumed = await trainTiny(folder, [...both, 'runner.last_epoch=0', 'runner.epochs=2'])
    expect(resumed.result.digest).toBe(whole.result.digest)
  })

  test('gives its weights alone to another optimizer, and says so', async () => {
    const path = freshPath()
    const first = await trainTiny(folder, savingTo(path))
    const start = [`runner.model_init_path=${path}/0`, 'hyper_parameters.lazy=False']
    for (const optimizer of ['adam', 'adagrad']) {
      const settings = savingTo('', ...start, `hyper_parameters.optimizer=${optimizer}`)
      const { events, result } = await trainTiny(folder, settings)
      expect(find(events, 'notice')?.message).toContain('weights are taken')
      expect(result.metrics['loss']).toBeLessThan(first.result.metrics['loss']!)
    }
  })
})

test('keep_checkpoints keeps the newest epochs', async () => {
  const path = freshPath()
  await trainTiny(folder, savingTo(path, 'runner.epochs=4', 'runner.keep_checkpoints=2'))
  expect((await readdir(path)).sort()).toEqual(['2', '3'])
  expect((await stat(join(path, '3', 'manifest.json'))).isFile()).toBe(true)
})
