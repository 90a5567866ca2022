/** @file What a dashboard may be given: folders that are no runs, runs of a newer version, a million log lines, clocks that jump. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CurveWriter, noteRun, RUN_VERSION, runPaths } from '../../base/runs/index.ts'
import { Answers } from './answers.ts'
import { writeRun } from './example-run.testing.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-bad-input-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const answers = () => new Answers({ folders: [folder], version: '0' })
const only = (own: Answers) => own.index.list().runs[0]!.id

test('folders that are no runs are none; one that looks like a run and cannot be read is counted', () => {
  writeRun(join(folder, 'runs/good'), { rows: 5 })
  mkdirSync(join(folder, 'runs/empty'))
  mkdirSync(join(folder, 'runs/data'))
  writeFileSync(join(folder, 'runs/data/part-0'), '1 2 3\n')
  for (const [name, text] of Object.entries({ torn: '{"version": 1, "na', list: '[]', number: '7', nothing: '' })) {
    mkdirSync(join(folder, 'runs', name))
    writeFileSync(runPaths(join(folder, 'runs', name)).meta, text)
  }
  const { runs, unreadable } = answers().index.list()
  expect([runs.map(({ name }) => name), unreadable]).toEqual([['good'], 4])
})

test('a run of a newer version is shown as far as it is understood, and that is said', () => {
  const own = join(folder, 'runs/newer')
  writeRun(own, { rows: 5 })
  const meta = JSON.parse(readFileSync(runPaths(own).meta, 'utf8')) as object
  writeFileSync(runPaths(own).meta, JSON.stringify({ ...meta, version: RUN_VERSION + 1, unheardOf: { of: 1 } }))
  writeFileSync(runPaths(own).eventFile('local'), '{"kind":"teleported","at":5,"to":"elsewhere"}\n')
  const all = answers()
  expect(all.index.list().runs[0]!.isNewer).toBe(true)
  const detail = all.detail(only(all))!
  expect(detail.hints).toContainEqual(expect.objectContaining({ kind: 'newer' }))
  expect([detail.damaged, detail.columns.includes('loss')]).toEqual([0, true])
})

test('of a million log lines the newest are shown, all are counted and searched', () => {
  const own = join(folder, 'runs/long')
  writeRun(own, { rows: 5 })
  const log = join(own, 'workerlog.0')
  const piece = Array.from({ length: 10_000 }, (_, i) => `line ${i} of ten thousand\n`).join('')
  writeFileSync(log, piece.repeat(100))
  noteRun(log, own)
  const all = answers()
  const asked = (query: string) => all.log(only(all), 'local', new URLSearchParams(query))!
  const newest = asked('lines=200')
  expect([newest.total, newest.lines.length, newest.isCut]).toEqual([1_000_000, 200, false])
  expect(newest.lines.at(-1)).toEqual({ number: 1_000_000, text: 'line 9999 of ten thousand' })
  const found = asked('q=LINE 77 of&lines=1000')
  expect([found.matching, found.lines[0]!.number]).toEqual([100, 78])
})

test('a clock that jumps back and forth loses no row, on no axis', () => {
  const own = join(folder, 'runs/jumps')
  writeRun(own, { rows: 5 })
  rmSync(runPaths(own).curveFile('local'))
  const writer = new CurveWriter(runPaths(own).curveFile('local'), (error) => {
    throw error
  })
  const day = 24 * 3600 * 1000
  // An hour back in summer time, a day forth by a wrong server, and right again.
  const clock = (i: number) => 1e12 + 1000 * i + (i < 30 ? 0 : i < 60 ? -3600_000 : i < 70 ? day : 0)
  for (let i = 0; i < 100; i++)
    writer.add({ at: clock(i), step: i + 1, samples: 10 * i, epoch: 0, isTest: 0, loss: i === 65 ? 9 : 1 }, i)
  writer.close()
  const all = answers()
  for (const axis of ['step', 'samples', 'time']) {
    const query = (points: number) => new URLSearchParams(`y=loss&x=${axis}&points=${points}`)
    const [line] = all.charts([only(all)], query(500)).charts['loss']!
    expect([axis, line!.total, line!.x.length, Math.max(...(line!.y as number[]))]).toEqual([axis, 100, 100, 9])
    expect(line!.x).toEqual(line!.x.toSorted((a, b) => a - b))
    const [thin] = all.charts([only(all)], query(10)).charts['loss']!
    expect([thin!.total, Math.max(...(thin!.y as number[]))]).toEqual([100, 9])
  }
  expect(all.index.list().runs[0]!.state).toBe('done')
})
