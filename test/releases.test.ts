/** @file What earlier releases wrote is read: every checkpoint and export in test/fixtures/releases loads and gives the numbers recorded then. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { capture } from '../src/cli/capture.testing.ts'

interface Expected {
  readonly checkpoints: Readonly<
    Record<string, { readonly config: string; readonly evaluation: Metrics; readonly trainedOn: Metrics }>
  >
  readonly scores: readonly number[]
}
type Metrics = Readonly<Record<string, number>>

const RELEASES = fileURLToPath(new URL('fixtures/releases', import.meta.url))
/** Processors add up in different orders. */
const DIGITS = 5

test('every release that CHANGELOG.md dates has its files', () => {
  const changelog = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8')
  const released = [...changelog.matchAll(/^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$/gm)].map(([, version]) => version!)
  expect(readdirSync(RELEASES)).toEqual(expect.arrayContaining(released))
  expect(released).toContain('0.1.0')
})

describe.each(readdirSync(RELEASES))('release %s', (version) => {
  const release = join(RELEASES, version)
  const expected = JSON.parse(readFileSync(join(release, 'expected.json'), 'utf8')) as Expected
  // Beside the model, as its user has them; runs write here too.
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-release-'))
  cpSync(join(release, 'model'), folder, { recursive: true })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('has a checkpoint of every way to train', () => {
    expect(Object.keys(expected.checkpoints).sort()).toEqual(readdirSync(join(release, 'checkpoints')).sort())
    expect(Object.keys(expected.checkpoints)).toEqual(expect.arrayContaining(['accessor', 'alone', 'ranks', 'servers']))
  })

  test.each(Object.entries(expected.checkpoints))(
    'a checkpoint (%s) is evaluated as it was',
    async (name, { config, evaluation }) => {
      const { metrics } = await done([
        'infer',
        '-m',
        join(folder, config),
        '-o',
        `runner.infer_load_path=${saved(name)}`,
      ])
      expectMetrics(metrics, evaluation)
    },
  )

  test.each(Object.entries(expected.checkpoints))(
    'training goes on from a checkpoint (%s) as it did',
    async (name, { config, trainedOn }) => {
      const overrides = [
        `runner.model_init_path=${saved(name)}/0`,
        `runner.model_save_path=${join(folder, `${name}-more`)}`,
      ]
      const { evaluation } = await done(['train', '-m', join(folder, config), '-o', ...overrides])
      expectMetrics(evaluation, trainedOn)
    },
  )

  test('an export scores as it did', async () => {
    const exported = join(release, 'export')
    const { code, out, err } = await capture(['predict', '--model', exported, join(folder, 'data/test/part-0')])
    expect([code, err]).toEqual([0, ''])
    const scores = out.trim().split('\n').map(Number)
    expect(scores.length).toBe(expected.scores.length)
    for (const [i, score] of scores.entries()) expect(score).toBeCloseTo(expected.scores[i]!, DIGITS)
  })

  /** A folder with this checkpoint as epoch 0. */
  function saved(name: string): string {
    const target = join(folder, name)
    if (!existsSync(target)) cpSync(join(release, 'checkpoints', name), join(target, '0'), { recursive: true })
    return target
  }
})

async function done(args: readonly string[]) {
  const { code, out, err } = await capture([...args, '--json'])
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out.trim().split('\n').at(-1)!) as { metrics: Metrics; evaluation: Metrics }
}

function expectMetrics(found: Metrics, expected: Metrics): void {
  expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort())
  for (const [name, value] of Object.entries(expected)) expect(found[name], name).toBeCloseTo(value, DIGITS)
}
