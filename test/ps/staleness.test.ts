/** @file Workers of different speed with runner.max_staleness, and steps of several batches with runner.scale_lr. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRanks } from '../collective/training.testing.ts'
import { TRAIN_ONLY, tinyFolder } from '../train/tiny.testing.ts'
import { type Job, startJob } from './job.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(2560)
  await writeFile(join(folder, 'slow.ts'), reader(6000, 1))
  await writeFile(join(folder, 'prompt.ts'), reader(0, 0))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A reader of slot text whose first sample is late, longer than servers keep anybody waiting for an answer, and the others by a moment. */
const reader = (firstMs: number, ms: number) => `import { BaseRecDataset } from 'oarfish'
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator]() {
    await sleep(${firstMs})
    for await (const line of this.lines()) {
      if (${ms} > 0) await sleep(${ms})
      const sample = {}
      for (const word of line.split(' ')) {
        const [name, value] = word.split(':')
        ;(sample[name] ??= []).push(name === 'x' ? Number(value) : value)
      }
      yield sample
    }
  }
}
`

const batches = (job: Job, name: string) => job.named(name).events.filter(({ kind }) => kind === 'batch').length

/** How far worker 0 was ahead of worker 1 at the most, by what they print, while that one had samples left. */
async function longestLead(staleness: readonly string[], mode: string) {
  const overrides = [
    ...['sync_mode', 'reader_type=RecDataset', 'train_reader_path=prompt', 'print_interval=1', 'model_save_path=']
      .map((key) => `runner.${key}`)
      .map((text) => (text === 'runner.sync_mode' ? `${text}=${mode}` : text)),
    ...staleness,
  ]
  const own = { 'worker 1': { overrides: ['runner.train_reader_path=slow'] } }
  const path = join(folder, TRAIN_ONLY)
  const job = await startJob({ path, workers: 2, servers: 2, overrides, own })
  const seen: [fast: number, slow: number][] = []
  const watch = setInterval(() => seen.push([batches(job, 'worker 0'), batches(job, 'worker 1')]), 5)
  try {
    await job.success()
    const all = batches(job, 'worker 1')
    expect(all).toBeGreaterThan(5)
    return { lead: Math.max(...seen.flatMap(([fast, slow]) => (slow < all ? [fast - slow] : []))), job }
  } finally {
    clearInterval(watch)
    job.kill()
  }
}

test.each([
  ['async', 1],
  ['geo', 0],
])(
  'in %s a fast worker is at most max_staleness = %i ahead of a slow one, and says whom it waits for',
  async (...row) => {
    const [mode, staleness] = row
    const { lead, job } = await longestLead([`runner.max_staleness=${staleness}`], mode)
    // One is under way, and one more may be printed and not yet read here.
    expect(lead).toBeLessThanOrEqual(staleness + 3)
    const said = job.named('worker 0').events.flatMap(({ kind, message }) => (kind === 'notice' ? [message] : []))
    expect(said).toContain(
      `Waiting for worker[1], ${staleness + 1} batches behind: runner.max_staleness is ${staleness}.`,
    )
  },
)

test('without max_staleness nobody waits', async () => {
  const { lead } = await longestLead([], 'async')
  expect(lead).toBeGreaterThan(6)
})

const RATES = ['runner.epochs=2', 'runner.model_save_path=']

test('sync says how large its steps are, and scale_lr makes rates larger by as much', async () => {
  const run = async (...overrides: string[]) => {
    const path = join(folder, TRAIN_ONLY)
    const all = [...RATES, 'runner.sync_mode=sync', ...overrides]
    const job = await startJob({ path, workers: 2, servers: 1, overrides: all, options: { digest: true } })
    try {
      await job.success()
      return job.named('worker 0').events
    } finally {
      job.kill()
    }
  }
  const digest = (events: Job['processes'][number]['events']) =>
    events.find(({ kind }) => kind === 'result')?.['digest']
  const [none, linear, larger] = [
    await run('hyper_parameters.learning_rate=0.01'),
    await run('hyper_parameters.learning_rate=0.01', 'runner.scale_lr=linear'),
    await run('hyper_parameters.learning_rate=0.02'),
  ]
  expect(digest(linear)).toBe(digest(larger))
  expect(digest(none)).not.toBe(digest(linear))
  const said = (events: typeof none) => events.map(({ message }) => message)
  const steps = '2 workers with batches of 48 make steps of 96 samples;'
  expect(said(none)).toContain(`${steps} learning rates stay as they are (runner.scale_lr: none).`)
  expect(said(linear)).toContain(`${steps} learning rates are 2 times as large (runner.scale_lr: linear).`)
})

test('ranks do the same', async () => {
  const run = async (...overrides: string[]) => {
    const ranks = await startRanks({ folder, size: 2, config: TRAIN_ONLY, overrides: [...RATES, ...overrides] })
    const ended = await Promise.all(ranks.map((rank) => rank.ended))
    for (const { code, err } of ended) expect(code, err).toBe(0)
    return ranks[0]!.events
  }
  const [scaled, larger] = [
    await run('hyper_parameters.learning_rate=0.01', 'runner.scale_lr=sqrt'),
    await run(`hyper_parameters.learning_rate=${0.01 * Math.SQRT2}`),
  ]
  const digest = (events: typeof scaled) => events.find(({ kind }) => kind === 'done')?.['digest']
  expect(digest(scaled)).toEqual(expect.any(String))
  expect(digest(scaled)).toBe(digest(larger))
  expect(scaled.map(({ message }) => message)).toContain(
    '2 ranks with batches of 48 make steps of 96 samples; learning rates are 1.414 times as large (runner.scale_lr: sqrt).',
  )
})
