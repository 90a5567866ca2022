/** @file Run folders: what is written is read back, what is damaged is counted, who is gone is seen. */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../config/index.ts'
import { batch, epoch, START } from '../event/example.testing.ts'
import type { Event } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { EventWriter } from './event-file.ts'
import { readGitCommit } from './git-commit.ts'
import {
  CurveWriter,
  findRuns,
  openCurves,
  openRecorder,
  readCurves,
  readEvents,
  readRun,
  readTags,
  recordRun,
  runPaths,
  stateOf,
  writeTags,
} from './index.ts'
import { runIdentity } from './run-name.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-runs-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fail = (error: Error) => {
  throw error
}
const fresh = (name: string) => {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  return path
}

const CONFIG = `runner:
  train_data_dir: data
  train_batch_size: 2
  model_save_path: SAVE
  fs_ugi: "me,secret"
hyper_parameters:
  optimizer: {class: Adam}
  db_password: secret
  aws_secret_access_key: secret
`
function config(name: string) {
  const own = fresh(name)
  const path = join(own, 'config.yaml')
  writeFileSync(path, CONFIG.replace('SAVE', join(own, 'model')))
  return loadConfig({ path, cwd: own })
}

test('rows of a curve come back as they were, whatever their columns', () => {
  let run = 0
  const value = fc.float({ noNaN: true, noDefaultInfinity: true })
  const row = fc.record({ at: fc.nat(), loss: value, auc: fc.option(value, { nil: undefined }) })
  fc.assert(
    fc.property(fc.array(row, { maxLength: 600 }), (rows) => {
      const path = join(folder, `curve-${run++}`)
      const writer = new CurveWriter(path, fail)
      for (const { auc, ...rest } of rows) writer.add(auc === undefined ? rest : { ...rest, auc }, 0)
      writer.close()
      const { column, damaged, rows: count } = readCurves(path)
      expect([count, damaged]).toEqual([rows.length, 0])
      for (const name of ['at', 'loss', 'auc'] as const)
        for (const newest of [3, 300, undefined])
          expect([...(column(name, newest) ?? rows.slice(-(newest ?? rows.length)).map(() => Number.NaN))]).toEqual(
            rows.slice(-(newest ?? rows.length)).map((one) => one[name] ?? Number.NaN),
          )
    }),
    { numRuns: 30 },
  )
})

test('a curve whose end is torn is read up to there, one that is damaged around the damage, which is counted', () => {
  const path = join(folder, 'damaged.curve')
  const writer = new CurveWriter(path, fail)
  for (let i = 0; i < 1024; i++) writer.add({ at: i, loss: i }, 0)
  writer.close()
  const whole = readFileSync(path)
  writeFileSync(path, whole.subarray(0, whole.length - 5))
  expect([readCurves(path).rows, readCurves(path).damaged]).toEqual([768, 0])
  const spoilt = Buffer.from(whole)
  spoilt[Math.floor(whole.length / 3)]! ^= 0xff
  writeFileSync(path, spoilt)
  expect([readCurves(path).rows, readCurves(path).damaged]).toEqual([768, 1])
  const longer = Buffer.from(whole)
  const first = longer.indexOf('R', 9 + longer.readUInt32LE(1), 'latin1')
  longer.writeUInt32LE(longer.readUInt32LE(first + 1) + 10, first + 1) // a length that leads into the next record
  writeFileSync(path, longer)
  expect([readCurves(path).rows, readCurves(path).damaged]).toEqual([768, 1])
  spoilt.fill(0, 40, 60) // a length that leads nowhere
  writeFileSync(path, spoilt)
  expect(readCurves(path).rows).toBeLessThan(1024)
  expect(readCurves(path).damaged).toBeGreaterThan(0)
})

test('of a long curve the outline has every peak and counts all rows, a part is read alone, and without it all is read', () => {
  const path = join(fresh('long'), 'worker-0.curve')
  const writer = new CurveWriter(path, fail)
  const rows = 256 * 40 + 100
  for (let i = 0; i < rows; i++) {
    const isTest = Number(i % 1000 === 999)
    writer.add(
      { at: 5 * i, step: i, samples: 2 * i, epoch: 0, isTest, loss: i === 3333 ? 77 : i === 7000 ? -5 : i % 10 },
      0,
    )
  }
  writer.close()
  const whole = readCurves(path)
  const long = openCurves(path)
  expect([long.rows, long.names, long.end]).toEqual([whole.rows, whole.names, whole.end])
  const { x, y, total } = long.outline!('loss', 'step', false)!
  expect([total, long.outline!('loss', 'step', true)!.total]).toEqual([rows - 10, 10])
  expect([x[y.indexOf(77)], x[y.indexOf(-5)]]).toEqual([3333, 7000])
  expect(x).toEqual(x.toSorted())
  expect(x.at(-1)).toBe(rows - 1)
  const part = long.part!('at', 5 * 5000, 5 * 5100)!
  expect(part.rows).toBeLessThan(1500)
  const steps = part.column('step')!
  expect(steps[0]).toBeLessThan(5000)
  expect(steps.at(-1)).toBeGreaterThan(5100)
  expect(part.column('loss')![5050 - steps[0]!]).toBe(0)
  expect(long.column('loss', 30)).toEqual(whole.column('loss', 30))
  expect(long.column('loss')).toEqual(whole.column('loss'))
  // A process that is killed leaves rows that no outline has; the next one goes on behind them.
  appendFileSync(path, readFileSync(path).subarray(0, 5000))
  const next = new CurveWriter(path, fail)
  next.add({ at: 1, step: 2, samples: 3, epoch: 0, isTest: 0, loss: 4 }, 0)
  next.close()
  expect(openCurves(path).outline).toBeUndefined()
  rmSync(path.replace('.curve', '.outline'))
  expect(openCurves(path).rows).toBe(readCurves(path).rows)
})

test('events are cut into files without losing one; a torn last line is none, others that are no events are counted', () => {
  const path = join(fresh('events'), 'local.jsonl')
  const writer = new EventWriter(path, fail, 500)
  for (let i = 0; i < 40; i++) writer.add({ kind: 'notice', message: `number ${i}` }, i)
  writer.close()
  expect(readEvents(path).events.map((event) => event.at)).toEqual(Array.from({ length: 40 }, (_, i) => i))
  appendFileSync(path, 'nonsense\n{"kind":"notice"}\n{"kind":"notice","message":"half')
  expect([readEvents(path).events.length, readEvents(path).damaged]).toEqual([40, 2])
})

function record(name: string, events: readonly Event[], how: 'done' | 'stopped' | { error: Error } = 'done') {
  const recorder = openRecorder({ config: config(name), env: {}, emit: fail as never })!
  for (const event of events) recorder.add(event)
  recorder.end(how)
  return recorder.folder
}

test('a run is described without its secrets, and its summary needs no events', () => {
  const events: Event[] = [
    START,
    batch({ batch: 9, samples: 20 }),
    batch({ epoch: 1, batch: 4, samples: 10 }),
    epoch({ phase: 'infer', metrics: { auc: 0.75 } }),
  ]
  const run = record('summary', events)
  const { meta, state, lead } = readRun(run)!
  expect(state).toBe('done')
  expect(lead).toMatchObject({ step: 15, samples: 30, evaluation: { auc: 0.75 }, epochs: 2 })
  expect(meta.settings).toMatchObject({ 'runner.train_batch_size': 2, 'hyper_parameters.optimizer.class': 'Adam' })
  expect(readFileSync(runPaths(run).meta, 'utf8')).not.toMatch(/["' ]secret/)
  expect(meta.source.text).toContain('model_save_path')
  const { column } = readCurves(runPaths(run).curveFile('local'))
  expect([...column('step')!]).toEqual([10, 15])
  expect(column('loss')![0]).toBeCloseTo(0.51234567, 6)
  expect(column('nothing')).toBeUndefined()
})

test('the newest rows of a column alone, over rows that do not all have it', () => {
  const path = join(folder, 'newest.curve')
  const writer = new CurveWriter(path, () => undefined)
  for (let step = 0; step < 600; step++)
    writer.add(step === 599 ? { step, loss: 1, auc: 0.5 } : { step, loss: step / 8 }, step)
  writer.close()
  const { rows, column } = readCurves(path)
  expect(rows).toBe(600)
  expect([...column('step', 3)!]).toEqual([597, 598, 599])
  expect([...column('auc', 2)!]).toEqual([Number.NaN, 0.5])
  expect(column('loss')).toHaveLength(600)
  expect([...column('loss', 300)!.subarray(0, 2)]).toEqual([37.5, 37.625])
  expect(column('loss', 1000)).toHaveLength(600)
})

test('a failure is in the summary and in the events', () => {
  const run = record('failing', [START], { error: new Error('the disk is full') })
  expect(readRun(run)).toMatchObject({ state: 'failed', lead: { error: 'the disk is full' } })
  expect(readEvents(runPaths(run).eventFile('local')).events.at(-1)).toMatchObject({ kind: 'error', code: 'BUG' })
})

test('a run that is refused before it begins leaves no folder; one that has begun, or in which another process has a part, does', async () => {
  const refused = new UserError('layer_sizes must be a list', { code: 'MODEL_HYPER' })
  const attempt = async (name: string, env: Record<string, string>, events: readonly Event[]) => {
    const work = recordRun({ config: config(name), env, emit: () => undefined }, async (emit) => {
      for (const event of events) emit(event)
      throw refused
    })
    await expect(work).rejects.toBe(refused)
  }
  await attempt('refused', { OARFISH_RUN_NAME: 'none' }, [])
  await attempt('refused', { OARFISH_RUN_NAME: 'begun' }, [START])
  const job = { OARFISH_RUN_NAME: 'both', OARFISH_JOB_ID: 'a', PADDLE_TRAINERS_NUM: '2' }
  const other = openRecorder({
    config: config('refused'),
    env: { ...job, PADDLE_TRAINER_ID: '1' },
    emit: fail as never,
  })!
  await attempt('refused', { ...job, PADDLE_TRAINER_ID: '0' }, [])
  other.end('done')
  const runs = dirname(other.folder)
  expect(readdirSync(runs).sort()).toEqual(['begun', 'both'])
})

test('processes of a job share a folder, another run of the same name gets one of its own', () => {
  const loaded = config('shared')
  const job = { OARFISH_RUN_NAME: 'mine', OARFISH_JOB_ID: 'a', PADDLE_TRAINERS_NUM: '2' }
  const open = (env: Record<string, string>, resume = false) => {
    const recorder = openRecorder({ config: loaded, env, resume, emit: fail as never })!
    recorder.end('done')
    return recorder.folder
  }
  const first = open({ ...job, PADDLE_TRAINER_ID: '0' })
  expect(open({ ...job, PADDLE_TRAINER_ID: '1' })).toBe(first)
  expect(readRun(first)!.processes.map(({ name }) => name)).toEqual(['rank-0', 'rank-1'])
  expect(basename(open({ ...job, OARFISH_JOB_ID: 'b' }))).toBe('mine-2')
  expect(open({ OARFISH_RUN_NAME: 'mine' }, true)).toBe(first)
  expect(readRun(first)!.processes.find(({ name }) => name === 'local')).toBeDefined()
})

test('where runs go: beside the models, where the key says, nowhere', () => {
  const { config: own } = config('places')
  const at = (runner: Partial<typeof own.runner>, env = {}) =>
    runIdentity({ ...own, runner: { ...own.runner, ...runner } }, { OARFISH_RUN_NAME: 'x', ...env })?.folder
  expect(at({})).toBe(join(folder, 'places/runs/x'))
  expect(at({ run_dir: '/elsewhere' })).toBe('/elsewhere/x')
  expect(at({ run_dir: '' })).toBeUndefined()
  expect(at({ model_save_path: '' })).toBeUndefined()
  expect(at({ model_save_path: 'hdfs://a/b' })).toBeUndefined()
  expect(at({ run_dir: '/elsewhere' }, { OARFISH_RUN_DIR: '' })).toBeUndefined()
})

test('a folder that cannot be written is said, and training goes on', () => {
  const loaded = config('unwritable')
  writeFileSync(join(folder, 'unwritable/runs'), 'a file')
  const said: Event[] = []
  expect(openRecorder({ config: loaded, env: {}, emit: (event) => said.push(event) })).toBeUndefined()
  expect(said).toMatchObject([{ kind: 'warning', message: expect.stringContaining('This run is not recorded') }])
})

test('a process that is gone without a word has died; on another host it is silent after a while', () => {
  const { lead } = readRun(record('states', [START]))!
  const running = { ...lead!, state: 'running' } as const
  expect(stateOf(running, Date.now())).toBe('running')
  expect(stateOf({ ...running, start: 'another' }, Date.now())).toBe('died')
  expect(stateOf({ ...running, place: 'elsewhere' }, running.updatedAt + 10_000)).toBe('running')
  expect(stateOf({ ...running, place: 'elsewhere' }, running.updatedAt + 100_000)).toBe('silent')
  // A clock that was set back.
  expect(stateOf({ ...running, place: 'elsewhere' }, running.updatedAt - 100_000)).toBe('running')
})

test('runs are found from their folder, from a project and from above it; other folders are none', () => {
  const run = record('found', [START])
  expect(findRuns([run])).toEqual([run])
  expect(findRuns([join(folder, 'found')])).toEqual([run])
  expect(findRuns([folder])).toContain(run)
  writeFileSync(join(fresh('found/runs/no-run'), 'run.json'), 'nonsense')
  expect(readRun(join(folder, 'found/runs/no-run'))).toBeUndefined()
  expect(readRun(folder)).toBeUndefined()
  writeTags(run, ['a', 'b', 'a'])
  expect(readTags(run)).toEqual(['a', 'b'])
})

test('the commit is that of HEAD: loose, packed, detached', () => {
  const git = fresh('project/.git')
  const commit = 'a'.repeat(40)
  writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/main\n')
  expect(readGitCommit(join(folder, 'project'))).toBeUndefined()
  writeFileSync(join(git, 'packed-refs'), `# pack-refs\n${commit} refs/heads/main\n`)
  expect(readGitCommit(fresh('project/below'))).toBe(commit)
  writeFileSync(join(git, 'HEAD'), `${'b'.repeat(40)}\n`)
  expect(readGitCommit(join(folder, 'project'))).toBe('b'.repeat(40))
})
