/** @file `oarfish sweep` as a command: its runs, its table, its end by kill -9 and going on. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { gridTrials, parseSearch, randomTrial } from '../../src/library/search-space.ts'
import { formerChildGone, noteChild } from '../../src/library/sweep-child.ts'
import { tinyFolder } from '../train/tiny.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(320)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const RATE = 'hyper_parameters.learning_rate'

function start(...args: string[]): { child: ChildProcess; ended: Promise<{ code: number | null; text: string }> } {
  const child = spawn(process.execPath, [BIN, 'sweep', '-m', 'config.yaml', ...args], { cwd: folder })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream!.on('data', (piece) => (text += piece))
  const ended = new Promise<{ code: number | null; text: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, text })),
  )
  return { child, ended }
}
const sweep = (...args: string[]) => start(...args).ended
const isIn = (file: string, words: string) => existsSync(file) && readFileSync(file, 'utf8').includes(words)
const result = (out: string, run: number) =>
  JSON.parse(readFileSync(join(folder, out, `run-00${run}`, 'result.json'), 'utf8'))

describe('values to try', () => {
  test('are drawn by seed and number alone', () => {
    const keys = parseSearch(['a.rate=log:1e-4..1e-2', 'a.dim=int:8..64', 'a.drop=0.1..0.5', 'a.act=relu,tanh'])
    const trial = randomTrial(keys, 7, 3)
    expect(randomTrial(keys, 7, 3)).toEqual(trial)
    expect(randomTrial(keys, 8, 3)).not.toEqual(trial)
    const all = Array.from({ length: 200 }, (_, i) => randomTrial(keys, 7, i))
    const numbers = (key: string) => all.map((own) => Number(own[key]))
    expect(Math.min(...numbers('a.rate'))).toBeGreaterThanOrEqual(1e-4)
    expect(Math.max(...numbers('a.rate'))).toBeLessThanOrEqual(1e-2)
    // Half of them lie below the geometric mean.
    const below = numbers('a.rate').filter((rate) => rate < 1e-3).length
    expect(below).toBeGreaterThan(70)
    expect(below).toBeLessThan(130)
    expect(numbers('a.dim').every((dim) => Number.isInteger(dim) && dim >= 8 && dim <= 64)).toBe(true)
    expect(new Set(all.map((own) => own['a.act']))).toEqual(new Set(['relu', 'tanh']))
  })

  test('of a grid are all combinations', () => {
    expect(gridTrials(parseSearch(['a=log:1..100:3', 'b=x,y']))).toEqual([
      { a: '1', b: 'x' },
      { a: '1', b: 'y' },
      { a: '10', b: 'x' },
      { a: '10', b: 'y' },
      { a: '100', b: 'x' },
      { a: '100', b: 'y' },
    ])
  })

  test.each([
    ['rate', /no KEY=VALUES/],
    ['a=log:0..1', /no range/],
    ['a=log:1', /no range/],
    ['a=5..1', /no range/],
    ['a=int:1..2.5', /no range/],
  ])('%s is refused', (typed, expected) => {
    expect(() => parseSearch([typed])).toThrow(expected)
  })
  test('a range without points is no grid, and a key counts once', () => {
    expect(() => gridTrials(parseSearch(['a=0..1']))).toThrow(/needs points/)
    expect(() => parseSearch(['a=1,2', 'a=3'])).toThrow(/given twice/)
  })
})

test('a killed sweep goes on: runs that are done stay, its processes end with it', async () => {
  const args = ['--set', `${RATE}=log:1e-3..1e-1`, '--runs', '3', '--out', 'killed', '-o', 'runner.epochs=2']
  const { child, ended } = start(...args)
  await expect.poll(() => existsSync(join(folder, 'killed', 'run-000', 'result.json')), { timeout: 120_000 }).toBe(true)
  child.kill('SIGKILL')
  await ended
  const before = result('killed', 0)
  const { code, text } = await sweep(...args)
  expect(text).toContain('Best: oarfish train -m config.yaml -o runner.epochs=2 hyper_parameters.learning_rate=')
  expect(code).toBe(0)
  expect(result('killed', 0)).toEqual(before)
  const values = [0, 1, 2].map((run) => result('killed', run))
  const best = values.reduce((a, b) => (b.value > a.value ? b : a))
  expect(text).toContain(`learning_rate=${best.trial[RATE]}`)
  const other = await sweep(...args.map((arg) => (arg === `${RATE}=log:1e-3..1e-1` ? `${RATE}=0.1..0.2` : arg)))
  expect(other).toMatchObject({ code: 2, text: expect.stringContaining('holds a sweep with other settings') })
})

test('a process that a killed sweep left behind is gone before its run begins anew', async () => {
  const args = ['--set', `${RATE}=0.01,0.02`, '--runs', '1', '--out', 'left', '-o', 'runner.epochs=30']
  const run = join(folder, 'left', 'run-000')
  const { child, ended } = start(...args)
  await expect.poll(() => isIn(join(run, 'events.jsonl'), '"kind":"epoch"'), { timeout: 120_000 }).toBe(true)
  const { pid } = JSON.parse(readFileSync(join(run, 'process.json'), 'utf8'))
  expect(await sweep(...args)).toMatchObject({ code: 2, text: expect.stringMatching(/another job writes into .*left/) })
  process.kill(pid, 'SIGSTOP') // it cannot notice yet that its sweep is gone
  child.kill('SIGKILL')
  await ended
  const next = start(...args)
  const owner = join(folder, 'left', '.oarfish-log-lock')
  await expect.poll(() => isIn(owner, `"pid": ${next.child.pid},`), { timeout: 60_000 }).toBe(true)
  process.kill(pid, 'SIGCONT')
  const { code, text } = await next.ended
  expect(text).toContain('Best: ')
  expect(code).toBe(0)
  const lines = readFileSync(join(run, 'events.jsonl'), 'utf8').trimEnd().split('\n')
  for (const line of lines) if (line.startsWith('{')) JSON.parse(line)
  expect(lines.filter((line) => line.includes('"kind":"done"'))).toHaveLength(1)
  expect(existsSync(join(run, 'process.json'))).toBe(false)
})

test('a process that does not end is ended; one that only has its number now is not', async () => {
  const run = mkdtempSync(join(folder, 'note-'))
  const stuck = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'], {
    detached: true,
  })
  const gone = new Promise((resolve) => stuck.once('exit', (_, signal) => resolve(signal)))
  noteChild(run, stuck.pid!)
  const noted = readFileSync(join(run, 'process.json'), 'utf8')
  writeFileSync(join(run, 'process.json'), noted.replace(/"start":"/, '$&x'))
  await formerChildGone(run, 100)
  expect(stuck.exitCode ?? stuck.signalCode).toBe(null)
  writeFileSync(join(run, 'process.json'), noted)
  await formerChildGone(run, 100)
  expect(await gone).toBe('SIGKILL')
  expect(readdirSync(run)).toEqual([])
})

test('halving trains many runs for few epochs and the best of them for all', async () => {
  const args = ['--set', `${RATE}=log:1e-3..1e-1`, '--runs', '4', '--strategy', 'halving', '--out', 'halved']
  const { code, text } = await sweep(...args, '--parallel', '2', '-o', 'runner.epochs=3')
  expect(text).toContain('Best: ')
  expect(code).toBe(0)
  const epochs = readdirSync(join(folder, 'halved'))
    .filter((name) => name.startsWith('run-'))
    .map((_, run) => result('halved', run).epochs)
  expect(epochs.sort()).toEqual([1, 1, 3, 3])
  const { rungs } = JSON.parse(readFileSync(join(folder, 'halved/sweep.json'), 'utf8')) as { rungs: unknown }
  expect(rungs).toEqual([
    { epochs: 1, runs: 4 },
    { epochs: 3, runs: 2 },
  ])
})

test('a run that fails is told, and a sweep without test data is refused', async () => {
  const { text } = await sweep('--set', `${RATE}=0.01,nonsense`, '--strategy', 'grid', '--out', 'failing')
  expect(text).toMatch(/failed: .*learning_rate/)
  expect(text).toContain('Best: oarfish train -m config.yaml -o hyper_parameters.learning_rate=0.01')
  const refused = await sweep('--set', `${RATE}=0.01,0.1`, '--strategy', 'girds')
  expect(refused).toMatchObject({ code: 2, text: expect.stringContaining('did you mean "grid"') })
})

test('a key that the model does not have is refused before anything runs', async () => {
  const { code, text } = await sweep('--set', 'hyper_parameters.optimizer.learning_rat=log:1e-4..1e-2', '--out', 'none')
  expect(code).toBe(2)
  expect(text.match(/error in config\.yaml/g)).toHaveLength(1)
  expect(text).toContain('hyper_parameters.optimizer')
  expect(existsSync(join(folder, 'none'))).toBe(false)
})
