/** @file The whole product in seconds: config, 20 steps from text, evaluation. */
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TinyRun, tinyFolder, trainTiny } from './train/tiny.testing.ts'

describe('a tiny model', () => {
  let folder: string
  let run: TinyRun
  beforeAll(async () => {
    folder = await tinyFolder()
    run = await trainTiny(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('trains 20 batches of text and evaluates', () => {
    const steps = run.events.filter((event) => event.kind === 'batch' && event.phase === 'train')
    expect(steps.map((event) => event.kind === 'batch' && event.batch)).toEqual([0, 5, 10, 15])
    expect(run.result).toMatchObject({ samples: 960, interrupted: false })
    expect(run.events.at(-1)).toMatchObject({ kind: 'done', samples: 960, digest: run.result.digest })
  })

  test('learns something that holds on other data', () => {
    expect(run.result.evaluation!['auc']).toBeGreaterThan(0.7)
    expect(run.result.evaluation!['loss']).toBeLessThan(0.69)
  })

  test('says what happens, in order', () => {
    const all = run.events.map(({ kind }) => kind)
    // How large tables are is told by the clock.
    expect(all).toContain('tables')
    const kinds = all.filter((kind) => kind !== 'tables').filter((kind, i, others) => kind !== others[i - 1])
    expect(kinds).toEqual([
      ...['start', 'ready', 'epochStart', 'batch', 'epoch', 'saved'],
      ...['epochStart', 'batch', 'epoch', 'done'],
    ])
  })
})
