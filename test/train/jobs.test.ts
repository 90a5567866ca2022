/** @file The contract of TrainingJob and EvaluationJob: every way to take part in a job says, saves and resumes alike under the one driver. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { infer, type TrainOptions } from '../../src/training/driver/index.ts'
import { tinyFolder } from './tiny.testing.ts'
import { quiet, WAYS } from './ways.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(320)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = (...overrides: string[]) => loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })

/** Events that are the same in every way; the rest is about who the others are. */
const SAID = ['start', 'loaded', 'ready', 'epochStart', 'epoch', 'saved', 'interrupted', 'done']
const kinds = (events: readonly Event[]) =>
  events
    .filter(({ kind }) => SAID.includes(kind))
    .map((event) => ('phase' in event ? `${event.kind} ${event.phase}` : event.kind))

const EPOCH = ['epochStart train', 'epoch train', 'saved', 'epochStart infer', 'epoch infer']

describe.each(Object.entries(WAYS))('%s', (name, way) => {
  const path = `saved-${name.replaceAll(' ', '-')}`
  const run = async (overrides: readonly string[], options: Partial<TrainOptions> = {}) => {
    const events: Event[] = []
    const emit = (event: Event) => {
      events.push(event)
      options.emit?.(event)
    }
    const config = load(`runner.model_save_path=${path}`, 'runner.print_interval=1', ...overrides)
    const result = await way.train({ config, digest: true, ...options, emit })
    return { events, result }
  }

  test('an epoch is trained, saved and evaluated; another goes on from there', async () => {
    const first = await run(['runner.epochs=1'])
    expect(kinds(first.events)).toEqual(['start', 'ready', ...EPOCH, 'done'])
    expect(first.result).toMatchObject({ samples: 240, interrupted: false })
    expect(first.result.digest).toMatch(/^[0-9a-f]{64}$/)
    const more = await run(['runner.epochs=2'], { resume: true })
    expect(kinds(more.events)).toEqual(['start', 'loaded', 'ready', ...EPOCH, 'done'])
    expect(more.events.find(({ kind }) => kind === 'epoch')).toMatchObject({ epoch: 1 })
    expect((await readdir(join(folder, path))).sort()).toEqual(['0', '1'])
    expect(await readdir(join(folder, path, '1'))).toContain('manifest.json')
    const again = await run(['runner.epochs=2'], { resume: true })
    expect(kinds(again.events)).toEqual(['start', 'loaded', 'ready', 'done'])
    expect(again.result.digest).toBe(more.result.digest)
  })

  test('saved epochs are evaluated, each as the others evaluate it', async () => {
    const events: Event[] = []
    const config = load(`runner.infer_load_path=saved-alone`, 'runner.infer_end_epoch=2')
    const { epochs, samples } = await way.infer({ config, emit: (event) => events.push(event) })
    expect(kinds(events)).toEqual([
      ...['start', 'loaded', 'ready', 'epochStart infer', 'epoch infer'],
      ...['loaded', 'epochStart infer', 'epoch infer', 'done'],
    ])
    expect(samples).toBe(160)
    const here = await infer({ config, emit: quiet })
    for (const [i, { metrics }] of epochs.entries())
      expect(metrics['auc']).toBeCloseTo(here.epochs[i]!.metrics['auc']!, 6)
  })

  test('stopped inside an epoch it saves what it has learned, and goes on with that epoch', async () => {
    const stop = new AbortController()
    const emit = ({ kind }: Event) => kind === 'batch' && stop.abort()
    const { events, result } = await run(['runner.epochs=3', 'runner.train_batch_size=8'], {
      resume: true,
      signal: stop.signal,
      emit,
    })
    expect(result.interrupted).toBe(true)
    expect(kinds(events)).toEqual(['start', 'loaded', 'ready', 'epochStart train', 'interrupted', 'done'])
    expect(events.find(({ kind }) => kind === 'interrupted')).toMatchObject({
      epoch: 2,
      path: `${join(folder, path)}/interrupted`,
    })
    const rest = await run(['runner.epochs=3', 'runner.train_batch_size=8'], { resume: true })
    expect(kinds(rest.events)).toEqual(['start', 'loaded', 'ready', ...EPOCH, 'done'])
  })
})
