/** @file Cuts inside an epoch: they change nothing, and a run that goes on from one ends where the undisturbed run ends, bit for bit. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../../src/base/event/index.ts'
import { manifestText, parseManifest } from '../../src/weights/snapshot/manifest.ts'
import { tinyFolder, trainTiny } from './tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let runs = 0
const freshPath = () => join(folder, `saved-${runs++}`)
const settings = (path: string, ...more: string[]) => [`runner.model_save_path=${path}`, 'runner.epochs=2', ...more]
const cutsIn = (path: string) => readdirSync(path).filter((name) => name.startsWith('cut-'))

const manifestOf = (path: string, name: string) =>
  JSON.parse(readFileSync(join(path, name, 'manifest.json'), 'utf8')) as { files: Record<string, unknown> }
/** The folder beside it whose rows a cut begins with. */
const baseOf = ({ files }: { files: Record<string, unknown> }) =>
  Object.keys(files).flatMap((name) => /^\.\.\/([^/]+)\//.exec(name)?.[1] ?? [])[0]

/** Trains with cuts; what lies in model_save_path once the cut before this batch of epoch 1 is saved, as a kill would leave it. */
async function killedAt(batch: number, ...more: string[]): Promise<string> {
  const [path, left] = [freshPath(), freshPath()]
  await trainTiny(folder, settings(path, ...more), {
    emit: (event: Event) => {
      if (event.kind === 'saved' && event.epoch === 1 && event.batch === batch - 1)
        cpSync(path, left, { recursive: true, filter: (from) => !/lock/.test(from) })
    },
  })
  return left
}

const MODELS = {
  'lazy Adam': [],
  'Adam that is not lazy': ['hyper_parameters.lazy=False'],
  'batch norm and dropout': ['hyper_parameters.norm=True'],
  'samples in memory, shuffled each epoch': ['runner.reader_type=InmemoryDataset', 'runner.local_shuffle=True'],
  'two threads that step together': ['runner.thread_num=2', 'runner.thread_mode=sync'],
}

describe.each(Object.entries(MODELS))('with %s', (_, model) => {
  test('cuts change nothing, and a killed run goes on from the last one to the same end', async () => {
    const whole = await trainTiny(folder, settings(freshPath(), ...model))
    const every = ['runner.snapshot_interval=4', ...model]
    const path = freshPath()
    const cut = await trainTiny(folder, settings(path, ...every))
    expect(cut.result).toMatchObject({ ...whole.result, seconds: expect.anything(), breakdown: expect.anything() })
    expect(cutsIn(path)).toEqual([])

    const left = await killedAt(12, ...every)
    // Each holds what changed since the one before.
    expect(cutsIn(left).sort()).toEqual(['cut-1-12', 'cut-1-4', 'cut-1-8'])
    const resumed = await trainTiny(folder, settings(left, ...every), { resume: true })
    expect(resumed.result).toMatchObject({ samples: 960 - 12 * 48, digest: whole.result.digest })
    expect(resumed.result.metrics).toEqual(whole.result.metrics)
    expect(resumed.result.evaluation).toEqual(whole.result.evaluation)
  })
})

test('seconds make cuts too, and an epoch is one epoch on the screen', async () => {
  const { events, result } = await trainTiny(folder, settings(freshPath(), 'runner.snapshot_interval=0.001s'))
  // Some are left out while one is written.
  expect(events.filter(({ kind }) => kind === 'saved').length).toBeGreaterThan(2)
  expect(events.filter((event) => event.kind === 'epochStart' && event.phase === 'train')).toHaveLength(2)
  expect(events.filter((event) => event.kind === 'epoch' && event.phase === 'train')).toMatchObject([
    { samples: 960 },
    { samples: 960 },
  ])
  expect(result.samples).toBe(2 * 960)
})

test('a damaged cut is passed over for the one before, with a warning', async () => {
  const whole = await trainTiny(folder, settings(freshPath()))
  const left = await killedAt(12, 'runner.snapshot_interval=4')
  const file = join(left, 'cut-1-12', readdirSync(join(left, 'cut-1-12')).find((name) => name.endsWith('.rows'))!)
  const bytes = readFileSync(file)
  bytes[20]! ^= 1
  writeFileSync(file, bytes)
  const { result, events } = await trainTiny(folder, settings(left), { resume: true })
  expect(events).toContainEqual({
    kind: 'warning',
    message: expect.stringMatching(/passed over: .*cut-1-12.*checksum/),
  })
  expect(result).toMatchObject({ samples: 960 - 8 * 48, digest: whole.result.digest })
})

test('of cuts whose clock was set back meanwhile, the one that is furthest is the newest', async () => {
  const whole = await trainTiny(folder, settings(freshPath()))
  const left = await killedAt(12, 'runner.snapshot_interval=4')
  const file = join(left, 'cut-1-12', 'manifest.json')
  const parsed = parseManifest(readFileSync(file, 'utf8'))
  if (parsed.kind !== 'whole') throw new Error(parsed.reason)
  writeFileSync(file, manifestText({ ...parsed.manifest, savedAt: '2001-01-01T00:00:00.000Z' }))
  const { result } = await trainTiny(folder, settings(left), { resume: true })
  expect(result).toMatchObject({ samples: 960 - 12 * 48, digest: whole.result.digest })
})

test('what both kept cuts build on is damaged: the cut before it is taken, not the epoch before', async () => {
  const every = 'runner.snapshot_interval=1'
  const whole = await trainTiny(folder, settings(freshPath(), every))
  const left = await killedAt(19, every)
  const bases = cutsIn(left).map((name) => ({ name, base: baseOf(manifestOf(left, name)) ?? name }))
  const { base } = bases.find(({ name }) => name === 'cut-1-19')!
  expect(bases.filter((cut) => cut.base !== base).length).toBeGreaterThan(0)
  const rows = readdirSync(join(left, base)).find((name) => name.endsWith('.rows'))!
  const bytes = readFileSync(join(left, base, rows))
  bytes[20]! ^= 1
  writeFileSync(join(left, base, rows), bytes)
  const { result } = await trainTiny(folder, settings(left, every), { resume: true })
  expect(result.digest).toBe(whole.result.digest)
  expect(result.samples).toBeLessThan(960)
})

test('a cut of a run with other settings or another model is refused, with what differs', async () => {
  const left = await killedAt(12, 'runner.snapshot_interval=4')
  const resumed = (...more: string[]) => trainTiny(folder, settings(left, ...more), { resume: true })
  await expect(resumed('runner.train_batch_size=24')).rejects.toMatchObject({
    code: 'SNAPSHOT_OTHER_RUN',
    message: expect.stringContaining('runner.train_batch_size: 24 here, 48 in the cut'),
  })
  await expect(resumed('hyper_parameters.lazy=False')).rejects.toMatchObject({
    code: 'SNAPSHOT_OTHER_RUN',
    message: expect.stringMatching(/hyper_parameters.lazy: .*\n.*optimizer/),
  })
  await resumed('runner.print_interval=7', 'runner.snapshot_interval=0')
})

test('a job that is started again under its name goes on by itself; one of another name begins anew', async () => {
  const whole = await trainTiny(folder, settings(freshPath()))
  const as = async <T>(uid: string, work: () => Promise<T>): Promise<T> => {
    process.env['OARFISH_JOB_UID'] = uid
    try {
      return await work()
    } finally {
      delete process.env['OARFISH_JOB_UID']
    }
  }
  const every = 'runner.snapshot_interval=4'
  const left = await as('one', () => killedAt(12, every))
  const copy = freshPath()
  cpSync(left, copy, { recursive: true })
  const again = await as('one', () => trainTiny(folder, settings(left, every)))
  expect(again.result).toMatchObject({ samples: 960 - 12 * 48, digest: whole.result.digest })
  const other = await as('two', () => trainTiny(folder, settings(copy, every)))
  expect(other.result).toMatchObject({ samples: 2 * 960, digest: whole.result.digest })
})

test('a run that begins anew does not leave cuts of an earlier one behind', async () => {
  const left = await killedAt(8, 'runner.snapshot_interval=4')
  const seen: string[][] = []
  await trainTiny(folder, settings(left), {
    emit: ({ kind }) => void (kind === 'ready' && seen.push(cutsIn(left))),
  })
  expect(seen).toEqual([[]])
})

test('where there can be no cuts, that is said', async () => {
  const { events } = await trainTiny(folder, ['runner.model_save_path=', 'runner.snapshot_interval=4'])
  expect(events).toContainEqual({
    kind: 'notice',
    message: expect.stringContaining('snapshot_interval has no effect here'),
  })
})

test('a cut that cannot be saved is a warning; training goes on, and later ones are saved', async () => {
  const path = freshPath()
  const events: Event[] = []
  const { result } = await trainTiny(folder, settings(path, 'runner.snapshot_interval=4'), {
    emit: (event: Event) => {
      events.push(event)
      // Somebody else's folder stands where the cut before batch 8 goes.
      if (event.kind !== 'epochStart' || event.phase !== 'train' || event.epoch !== 0) return
      mkdirSync(join(path, 'cut-0-8'))
      writeFileSync(join(path, 'cut-0-8', 'notes.txt'), '')
    },
  })
  const warnings = events.filter(({ kind }) => kind === 'warning')
  expect(warnings).toEqual([{ kind: 'warning', message: expect.stringMatching(/^This cut is not saved, .*cut-0-8/) }])
  expect(result.samples).toBe(2 * 960)
  expect(events).toContainEqual(expect.objectContaining({ kind: 'saved', epoch: 0, batch: 11 }))
  expect(readdirSync(join(path, 'cut-0-8'))).toEqual(['notes.txt'])
})
