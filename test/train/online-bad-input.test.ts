/** @file What goes wrong around online training: days without data, files that are not whole, clocks that jump, disks that are full, deltas of another base. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { generateDemoDays } from '../../src/data/index.ts'
import { openVersions, parseVersions, verifyVersions } from '../../src/inference/versions/index.ts'
import { amongRanks } from '../../src/training/driver/index.ts'
import { trainOnline } from '../../src/training/online/index.ts'
import { inRing } from './ways.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

const CONFIG = fileURLToPath(new URL('../../models/rank/slot_dnn/config_online.yaml', import.meta.url))
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-bad-days-'))
  generateDemoDays({ out: join(folder, 'data'), start: '20190720', days: 3, splitInterval: 720, rows: 20, slots: 8 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))
afterEach(() => {
  vi.useRealTimers()
})

const load = (out: string, ...overrides: string[]) =>
  loadConfig({
    path: CONFIG,
    cwd: folder,
    overrides: [
      ...[`runner.train_data_dir=${join(folder, 'data')}`, `runner.model_save_path=${out}`, 'runner.end_day=20190722'],
      ...['runner.split_interval=720', 'runner.split_per_pass=1', 'runner.data_sleep_second=1', 'runner.evaluate=none'],
      ...['hyper_parameters.slot_num=8', 'hyper_parameters.layer_sizes=[8]', 'runner.reader_type=RecDataset'],
      ...overrides,
    ],
  })
const run = async (out: string, ...overrides: string[]) => {
  const events: Event[] = []
  const result = await trainOnline({
    config: load(out, ...overrides),
    emit: (event) => events.push(event),
    digest: true,
  })
  return { ...result, said: events.flatMap((event) => ('message' in event ? [event.message] : [])).join('\n') }
}
const versionsOf = async (out: string) =>
  parseVersions(await readFile(join(folder, out, 'versions.jsonl'), 'utf8'), out)

test('a day without data is left out, loudly, and still ends with its base and batch model', async () => {
  await cp(join(folder, 'data'), join(folder, 'gap'), { recursive: true })
  await rm(join(folder, 'gap/20190721'), { recursive: true })
  const late = ['runner.on_late_data=skip', 'runner.data_wait_minutes=0.001']
  const { samples, said } = await run('gap-out', `runner.train_data_dir=${join(folder, 'gap')}`, ...late)
  expect(samples).toBe(4 * 20)
  expect(said).toContain('Day:20190721, Pass: 1 has no data: the pass is left out.')
  const done = (await readFile(join(folder, 'gap-out/donefile.txt'), 'utf8')).trimEnd().split('\n')
  expect(done.map((line) => line.split('\t')[0])).toContain('20190722')
  expect(await verifyVersions(openVersions(join(folder, 'gap-out')))).toEqual([])
})

test('a file that was not whole under its donefile is named with the sample', async () => {
  const data = join(folder, 'half')
  generateDemoDays({
    ...{ out: data, start: '20190720', days: 1, splitInterval: 720, rows: 20, slots: 8 },
    donefile: 'done',
  })
  const file = join(data, '20190720/1200/part-000')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.slice(0, text.lastIndexOf(':'))) // cut off behind a sign, before its slot
  const keys = [`runner.train_data_dir=${data}`, 'runner.data_donefile=done', 'runner.end_day=20190720']
  await expect(run('half-out', ...keys)).rejects.toThrow(/at sample 19 of .*part-000/)
  // Once it is whole, the same command goes on with that pass.
  await writeFile(file, text)
  expect((await run('half-out', ...keys)).samples).toBe(20)
})

test('a clock that jumps, forward and back, changes neither what is trained nor the order of versions', async () => {
  const straight = await run('straight')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2036-01-01T00:00:00Z') })
  await run('jumping', 'runner.end_day=20190720')
  vi.setSystemTime(Date.parse('2001-01-01T00:00:00Z'))
  const { digest } = await run('jumping')
  expect(digest).toBe(straight.digest)
  const ids = async (out: string) => (await versionsOf(out)).map(({ sequence, id }) => [sequence, id])
  expect(await ids('jumping')).toEqual(await ids('straight'))
})

test('a delta of another base in the place of one is told by model verify', async () => {
  await run('own', 'runner.end_day=20190720')
  await run('foreign', 'runner.end_day=20190720', 'runner.seed=7')
  const path = (await versionsOf('own')).find(({ kind }) => kind === 'delta')!.path
  await rm(join(folder, 'own', path), { recursive: true })
  await cp(join(folder, 'foreign', path), join(folder, 'own', path), { recursive: true })
  const problems = await verifyVersions(openVersions(join(folder, 'own')))
  expect(problems).toContainEqual(expect.objectContaining({ kind: 'differs' }))
})

test('a donefile of another model is refused before anything is trained', async () => {
  await mkdir(join(folder, 'other'), { recursive: true })
  await cp(join(folder, 'own'), join(folder, 'other'), { recursive: true })
  await expect(run('other', 'hyper_parameters.layer_sizes=[16]')).rejects.toMatchObject({
    code: expect.stringMatching(/^SNAPSHOT_/),
  })
})

test('ranks of which one does not see what the first publishes are refused', async () => {
  const options = { config: load('unseen', 'runner.use_fleet=True'), emit: () => undefined }
  const run = inRing(options, (own, group) => {
    const isFirst = group.rank === 0
    const config = isFirst ? own.config : load('unseen-by-the-first', 'runner.use_fleet=True')
    return trainOnline({ ...own, config }, amongRanks(group), { isFirst })
  })
  await expect(run).rejects.toThrow(/does not see what rank 0 publishes in .*unseen/)
})
