/** @file The best epoch and early stopping: alone, on servers and among ranks, over a resume. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { type Event, type EventOf, paddleSink } from '../../src/base/event/index.ts'
import { formatUserError, type UserError } from '../../src/base/util/index.ts'
import { bestOf, overfitText } from '../../src/training/driver/history.ts'
import { exportCheckpoint, type TrainOptions, train } from '../../src/training/driver/index.ts'
import { tinyFolder } from './tiny.testing.ts'
import { quiet, TOGETHER } from './ways.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(320)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = (...overrides: string[]) => loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })
const textOf = (events: readonly Event[]) =>
  events.flatMap((event) => (event.kind === 'notice' || event.kind === 'warning' ? [event.message] : [])).join('\n')
const evaluated = (events: readonly Event[]) =>
  events.filter((event): event is EventOf<'epoch'> => event.kind === 'epoch' && event.phase === 'infer')
const kept = (path: string) => JSON.parse(readFileSync(join(folder, path, 'epochs.json'), 'utf8'))

/** Steps so large that the loss on the test data is best at first. */
const WILD = ['hyper_parameters.learning_rate=40', 'runner.training_warnings=False']

describe.each(Object.entries(TOGETHER))('%s', (name, way) => {
  const path = `best-${name.replaceAll(' ', '-')}`
  const run = async (overrides: readonly string[], options: Partial<TrainOptions> = {}) => {
    const events: Event[] = []
    const config = load(`runner.model_save_path=${path}`, ...overrides)
    const result = await way.train({ config, ...options, emit: (event) => events.push(event) })
    return { events, result }
  }
  const settings = [
    'runner.keep_best=loss',
    'runner.early_stop={metric: loss, patience: 2, min_delta: 1e9}',
    'runner.keep_checkpoints=1',
  ]

  test('training stops when it gets no better, keeps the best epoch, and a resume knows it', async () => {
    const { events, result } = await run(['runner.epochs=9', ...settings, ...WILD])
    const losses = evaluated(events).map(({ metrics }) => metrics['loss']!)
    const best = losses.indexOf(Math.min(...losses))
    // Nothing is better by that much, so that the first epoch stays the best of early_stop.
    expect(losses).toHaveLength(3)
    expect(result.best).toEqual({ epoch: best, metric: 'loss', value: losses[best] })
    expect(textOf(events)).toContain('test loss was best in epoch 0')
    expect(kept(path).best).toEqual(result.best)
    expect(kept(path).epochs.map(({ epoch }: { epoch: number }) => epoch)).toEqual(losses.map((_, i) => i))
    const folders = readdirSync(join(folder, path)).filter((own) => /^\d+$/.test(own))
    expect(folders).toEqual(expect.arrayContaining([String(best), '2']))
    expect(result.epochs).toHaveLength(losses.length)

    const again = await run(['runner.epochs=9', ...settings, ...WILD], { resume: true })
    expect(evaluated(again.events)).toEqual([])
    expect(textOf(again.events)).toContain('Stopped early')
    expect(again.result.best).toEqual(result.best)
  })

  test('an epoch that was trained but not evaluated when the process died is evaluated on resume', async () => {
    const own = `${path}-killed`
    const overrides = [`runner.model_save_path=${own}`, 'runner.keep_best=auc']
    const whole = await run(['runner.epochs=2', ...overrides])
    const file = kept(own)
    writeFileSync(join(folder, own, 'epochs.json'), JSON.stringify({ ...file, epochs: file.epochs.slice(0, 1) }))
    const { events, result } = await run(['runner.epochs=2', ...overrides], { resume: true })
    expect(evaluated(events).map(({ epoch }) => epoch)).toEqual([1])
    expect(result.best).toMatchObject({ epoch: whole.result.best!.epoch })
    expect(result.epochs).toHaveLength(2)
  })

  test('training anew in the same folder begins a new record', async () => {
    const { result } = await run(['runner.epochs=1', 'runner.keep_best=auc'])
    expect(result.epochs).toHaveLength(1)
    expect(kept(path).epochs).toHaveLength(1)
  })
})

const METRICS = (auc: number) => ({ loss: 1 - auc, auc })
const record = (epoch: number, trained: number, tested: number) => ({
  epoch,
  train: METRICS(trained),
  test: METRICS(tested),
})

test('a model that overfits is told so, one that does not is not', () => {
  const { config } = load()
  const falling = [record(0, 0.65, 0.656), record(1, 0.68, 0.664), record(2, 0.72, 0.642)]
  expect(overfitText(falling, config)).toBe(
    'The model overfits: from epoch 1 to 2 auc went from 0.68 to 0.72 in training and from 0.664 to 0.642 on the test data. Keep the best epoch with runner.keep_best: auc, stop with runner.early_stop: {metric: auc, patience: 1}, or train fewer epochs.',
  )
  expect(overfitText(falling.slice(0, 2), config)).toBeUndefined()
  expect(overfitText([record(0, 0.7, 0.66), record(1, 0.69, 0.65)], config)).toBeUndefined()
  expect(overfitText([record(0, 0.7, 0.66), record(1, 0.71, 0.6595)], config)).toBeUndefined()
})

test('the end is a table of all epochs with the best marked', () => {
  const epochs = [record(0, 0.65, 0.656), record(1, 0.68, 0.664), record(2, 0.72, 0.642)]
  const best = bestOf(epochs, load().config)!
  const done = { kind: 'done', samples: 1, seconds: 1, samplesPerSecond: 1, metrics: {}, epochs, best } as const
  const lines: string[] = []
  paddleSink((text) => lines.push(text.replace(/^.*? - INFO - /, '')))(done)
  expect(lines.slice(0, 4).join('')).toBe(
    `epoch  train loss  train auc  test loss  test auc
0      0.3500      0.6500     0.3440     0.6560
1      0.3200      0.6800     0.3360     0.6640    best auc
2      0.2800      0.7200     0.3580     0.6420
`,
  )
})

test('export takes the best epoch and says so; --epoch takes another', async () => {
  const path = 'exported-best'
  const config = load('runner.epochs=4', `runner.model_save_path=${path}`, 'runner.keep_best=loss', ...WILD)
  const { epochs } = await train({ config, emit: quiet })
  const best = { epoch: 1, metric: 'loss', value: 0.5 }
  writeFileSync(join(folder, path, 'epochs.json'), JSON.stringify({ best, epochs }))
  const events: Event[] = []
  const manifest = await exportCheckpoint({ config, out: join(folder, 'out'), emit: (event) => events.push(event) })
  expect(manifest.epoch).toBe(best.epoch)
  expect(textOf(events)).toContain(`Epoch ${best.epoch} is exported: the best by test loss`)
  const other = await exportCheckpoint({ config, out: join(folder, 'out'), epoch: 3, emit: quiet })
  expect(other.epoch).toBe(3)
  rmSync(join(folder, path, 'epochs.json'))
  const last: Event[] = []
  const newest = await exportCheckpoint({ config, out: join(folder, 'out'), emit: (event) => last.push(event) })
  expect(newest.epoch).toBe(3)
  expect(textOf(last)).toContain('Epoch 3 is exported: the last that was saved.')
})

test('the best epoch is exported although only the command line of the training asked to keep it', async () => {
  const path = 'exported-best-of-options'
  const trained = ['runner.keep_best=loss', ...WILD]
  const own = (...overrides: string[]) => load('runner.epochs=3', `runner.model_save_path=${path}`, ...overrides)
  const { epochs } = await train({ config: own(...trained), emit: quiet })
  const best = { epoch: 1, metric: 'loss', value: 0.5 }
  writeFileSync(join(folder, path, 'epochs.json'), JSON.stringify({ best, epochs }))
  const exported = async () => {
    const events: Event[] = []
    const emit = (event: Event) => events.push(event)
    const { epoch } = await exportCheckpoint({ config: own(), out: join(folder, 'out'), emit })
    return { epoch, text: textOf(events) }
  }
  expect(await exported()).toEqual({ epoch: 1, text: expect.stringContaining('the best by test loss (0.5) of the 3') })
  rmSync(join(folder, path, '1'), { recursive: true })
  expect(await exported()).toEqual({
    epoch: 2,
    text: expect.stringContaining('the last that was saved, since the best, epoch 1 by test loss (0.5)'),
  })
})

test.each([
  [
    'a metric that the model does not have',
    ['runner.keep_best=acu'],
    /keep_best.*measures no "acu"; did you mean auc\?/s,
  ],
  ['a metric of early_stop', ['runner.early_stop={metric: lss, patience: 1}'], /early_stop.*did you mean loss\?/s],
  ['no test data', ['runner.keep_best=auc', 'runner.test_data_dir='], /./],
  ['nothing saved', ['runner.keep_best=auc', 'runner.model_save_path='], /nothing is saved/],
  ['no patience', ['runner.early_stop={metric: auc}'], /early_stop/],
  ['patience of 0', ['runner.early_stop={metric: auc, patience: 0}'], /early_stop/],
])('%s is refused', async (_what, overrides, expected) => {
  const error = await (async () => train({ config: load(...overrides), emit: quiet }))().then(
    () => expect.fail('it was trained'),
    (error: UserError) => error,
  )
  expect(formatUserError(error)).toMatch(expected)
})
