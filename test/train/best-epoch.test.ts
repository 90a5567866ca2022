/** @file The best epoch and early stopping: alone, on servers and among ranks, over a resume. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event, EventOf } from '../../src/base/event/index.ts'
import { formatUserError, type UserError } from '../../src/base/util/index.ts'
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
    'runner.early_stop={metric: loss, patience: 2}',
    'runner.keep_checkpoints=1',
  ]

  test('training stops when it gets no better, keeps the best epoch, and a resume knows it', async () => {
    const { events, result } = await run(['runner.epochs=9', ...settings, ...WILD])
    const losses = evaluated(events).map(({ metrics }) => metrics['loss']!)
    const best = losses.indexOf(Math.min(...losses))
    expect(losses).toHaveLength(best + 3)
    expect(result.best).toEqual({ epoch: best, metric: 'loss', value: losses[best] })
    expect(textOf(events)).toContain(`test loss was best in epoch ${best}`)
    expect(kept(path).best).toEqual(result.best)
    expect(kept(path).epochs.map(({ epoch }: { epoch: number }) => epoch)).toEqual(losses.map((_, i) => i))
    const folders = readdirSync(join(folder, path)).filter((own) => /^\d+$/.test(own))
    expect(folders).toEqual([String(best), String(best + 2)].sort())
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

test('the end shows every epoch and marks the best; a model that overfits is told so', async () => {
  const events: Event[] = []
  const overrides = ['runner.epochs=25', 'runner.model_save_path=', 'hyper_parameters.learning_rate=0.5']
  const { best, epochs } = await train({ config: load(...overrides), emit: (event) => events.push(event) })
  expect(epochs).toHaveLength(25)
  const [first, last] = [epochs!.find(({ epoch }) => epoch === best!.epoch)!, epochs!.at(-1)!]
  expect(last.test!['auc']).toBeLessThan(first.test!['auc']! * 0.998)
  expect(textOf(events)).toMatch(/The model overfits: from epoch \d+ to 24 auc .*runner\.keep_best: auc/)
})

test('export takes the best epoch and says so; --epoch takes another', async () => {
  const path = 'exported-best'
  const config = load('runner.epochs=4', `runner.model_save_path=${path}`, 'runner.keep_best=loss', ...WILD)
  const { best } = await train({ config, emit: quiet })
  expect(best!.epoch).toBeLessThan(3)
  const events: Event[] = []
  const manifest = await exportCheckpoint({ config, out: join(folder, 'out'), emit: (event) => events.push(event) })
  expect(manifest.epoch).toBe(best!.epoch)
  expect(textOf(events)).toContain(`Epoch ${best!.epoch} is exported: the best by test loss`)
  const other = await exportCheckpoint({ config, out: join(folder, 'out'), epoch: 3, emit: quiet })
  expect(other.epoch).toBe(3)
  rmSync(join(folder, path, 'epochs.json'))
  expect((await exportCheckpoint({ config, out: join(folder, 'out'), emit: quiet })).epoch).toBe(3)
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
