/** @file A sweep: the same training with other settings, each in a process of its own; what is done is kept, so that a sweep that was killed goes on. */
import { mkdirSync, rmSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { ConfigProblem, LoadedConfig } from '../base/config/index.ts'
import type { EventOf } from '../base/event/index.ts'
import { type SweepRung, sweepFile } from '../base/runs/index.ts'
import { isUserError, packageFile, shown, UserError } from '../base/util/index.ts'
import { gridTrials, parseSearch, randomTrial, type Trial } from './search-space.ts'
import { forgetChild, formerChildGone, noteChild } from './sweep-child.ts'

export const STRATEGIES = ['random', 'grid', 'halving'] as const
export type Strategy = (typeof STRATEGIES)[number]

export interface SweepOptions {
  readonly config: LoadedConfig
  /** The config's path and overrides, as every run is given them. */
  readonly path: string
  readonly overrides: readonly string[]
  /** `KEY=log:1e-4..1e-2`. */
  readonly set: readonly string[]
  readonly runs: number
  readonly strategy: Strategy
  readonly parallel: number
  readonly seed: number
  /** Of the evaluation. @default auc, else loss */
  readonly metric?: string | undefined
  /** Where runs, their output and their results are kept. */
  readonly out: string
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
  /** Throws where a run with these changes could not begin. */
  readonly check: (changed: readonly string[]) => Promise<void>
  readonly onRun: (run: RunResult) => void
}

/** One run that is done. */
export interface RunResult {
  readonly run: number
  readonly trial: Trial
  readonly epochs: number
  readonly seconds: number
  /** Undefined: it failed. */
  readonly value?: number | undefined
  readonly metric?: string | undefined
  readonly error?: string | undefined
}

export interface SweepResult {
  /** The best first; those that failed, last. */
  readonly runs: readonly RunResult[]
  readonly interrupted: boolean
}

/** Of a rung of halving, one in so many goes on. */
const ETA = 3

export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const { config, strategy } = options
  const keys = parseSearch(options.set)
  if (config.config.runner.test_data_dir === undefined) throw noTestData(config.config.path)
  const trials =
    strategy === 'grid'
      ? gridTrials(keys)
      : Array.from({ length: options.runs }, (_, i) => randomTrial(keys, options.seed, i))
  await someFits(trials, options)
  mkdirSync(options.out, { recursive: true })
  const { holdFolder } = await import('../base/fs/index.ts')
  const hint = 'Wait for its end, stop it, or give another folder: --out sweep-2'
  const lock = await holdFolder(options.out, { kind: 'log', key: '--out', command: 'oarfish sweep', hint })
  try {
    await sameSweep(options, rungsOf(options, trials.length))
    return await runTrials(options, trials)
  } finally {
    lock.release()
  }
}

async function runTrials(options: SweepOptions, trials: readonly Trial[]): Promise<SweepResult> {
  const { config, signal } = options
  let left = trials.map((_, run) => run)
  const results = new Map<number, RunResult>()
  for (const { epochs } of rungsOf(options, trials.length)) {
    await inParallel(left, options.parallel, signal, async (run) => {
      const result = await runOne(options, run, trials[run]!, epochs)
      if (!result) return
      results.set(run, result)
      options.onRun(result)
    })
    if (signal.aborted) break
    const ranked = await byValue(
      [...results.values()].filter(({ run }) => left.includes(run)),
      config,
    )
    left = ranked
      .filter(({ value }) => value !== undefined)
      .slice(0, goingOn(left.length))
      .map(({ run }) => run)
  }
  return { runs: await byValue([...results.values()], config), interrupted: signal.aborted }
}

/** A key that the model does not have would fail in every run. */
async function someFits(trials: readonly Trial[], { check, set }: Pick<SweepOptions, 'check' | 'set'>): Promise<void> {
  let first: unknown
  for (const trial of trials) {
    try {
      return await check(changesOf(trial))
    } catch (error) {
      if (!isUserError(error)) throw error
      first ??= unknownKey(error, set) ?? error
    }
  }
  throw first
}

/** The error of a key that nothing has, as it was typed here: with its values, and not as one `-o` that was drawn from them. */
function unknownKey(error: UserError, set: readonly string[]): UserError | undefined {
  const problems = 'problems' in error ? (error.problems as readonly ConfigProblem[]) : []
  for (const { code, place, guess } of problems) {
    if (code !== 'CONFIG_UNKNOWN_KEY' || place.kind !== 'override') continue
    const key = place.argument.slice(0, place.argument.indexOf('='))
    const typed = set.find((one) => one.startsWith(`${key}=`))
    if (typed === undefined) continue
    const hint = guess === undefined ? undefined : `write --set ${guess}${typed.slice(key.length)}`
    return new UserError(`--set ${typed}: unknown key${guess === undefined ? '' : ` - did you mean "${guess}"?`}`, {
      code,
      hint:
        hint ??
        'Write the whole key as the config has it: those of the model stand under hyper_parameters, all others under runner.',
      cause: error,
    })
  }
  return undefined
}

const changesOf = (trial: Trial) => Object.entries(trial).map(([key, value]) => `${key}=${value}`)

const goingOn = (runs: number) => Math.max(1, Math.ceil(runs / ETA))

/** Epochs that the runs of each rung have in all; alike for all runs where none is given up. */
function rungsOf({ strategy, config }: SweepOptions, runs: number): readonly SweepRung[] {
  const { epochs } = config.config.runner
  if (strategy !== 'halving') return [{ epochs, runs }]
  const count =
    Math.min(Math.floor(Math.log(Math.max(1, runs)) / Math.log(ETA)), Math.floor(Math.log(epochs) / Math.log(ETA))) + 1
  let left = runs
  return Array.from({ length: count }, (_, i) => {
    if (i > 0) left = goingOn(left)
    return { epochs: Math.max(1, Math.round(epochs / ETA ** (count - 1 - i))), runs: left }
  })
}

async function byValue(runs: readonly RunResult[], { config }: LoadedConfig): Promise<readonly RunResult[]> {
  const { rankOf } = await import('../training/driver/index.ts')
  const score = ({ value, metric, epochs }: RunResult) =>
    value === undefined
      ? ([Number.NEGATIVE_INFINITY, 0] as const)
      : ([rankOf(metric!, config.runner)(value), epochs] as const)
  return [...runs].sort((a, b) => {
    const [[first, epochs], [second, others]] = [score(a), score(b)]
    // What went further is compared among its own: fewer epochs say less.
    return others - epochs || second - first || a.run - b.run
  })
}

/** Undefined: it was stopped. What is in its folder already is taken as it is. */
async function runOne(
  options: SweepOptions,
  run: number,
  trial: Trial,
  epochs: number,
): Promise<RunResult | undefined> {
  const folder = join(options.out, `run-${String(run).padStart(3, '0')}`)
  const file = join(folder, 'result.json')
  const known = await readJson<RunResult>(file)
  if (known && known.epochs >= epochs) return known
  mkdirSync(folder, { recursive: true })
  const { startChild } = await import('../jobs/launch/index.ts')
  const changed = changesOf(trial)
  const own = [
    `runner.epochs=${epochs}`,
    `runner.model_save_path=${join(folder, 'model')}`,
    'runner.keep_checkpoints=1',
    `runner.run_dir=${join(options.out, 'runs')}`,
  ]
  const log = join(folder, 'events.jsonl')
  await formerChildGone(folder)
  if (options.signal.aborted) return undefined
  rmSync(log, { force: true }) // a file of its own: nobody else has this one open
  const command = [process.execPath, packageFile('bin/oarfish.js'), 'train', '-m', options.path, '--json', '--resume']
  const args = [...command, '-o', ...options.overrides, ...changed, ...own]
  const env = { ...options.env, OARFISH_RUN_NAME: basename(folder), OARFISH_RUN_DIR: undefined }
  const spec = { role: 'worker', rank: run, endpoint: '', env, log, sockets: [] } as const
  const started = performance.now()
  const child = startChild(spec, args)
  noteChild(folder, child.pid)
  const stop = () => child.signal('SIGTERM')
  options.signal.addEventListener('abort', stop, { once: true })
  const { code, text } = await child.exited
  options.signal.removeEventListener('abort', stop)
  forgetChild(folder)
  if (options.signal.aborted) return undefined
  const seconds = (performance.now() - started) / 1000 + (known?.seconds ?? 0)
  const result = await resultOf(options, { run, trial, epochs, seconds }, log, code === 0 ? undefined : text)
  await writeJson(file, result)
  return result
}

/** The best value of its epochs, from what it printed. */
async function resultOf(
  { config, metric: asked }: SweepOptions,
  run: RunResult,
  log: string,
  failure: string | undefined,
): Promise<RunResult> {
  const lines = (await readFile(log, 'utf8')).split('\n').filter((line) => line.startsWith('{'))
  const events = lines.map((line) => JSON.parse(line) as { kind: string })
  const error = events.findLast(({ kind }) => kind === 'error') as EventOf<'error'> | undefined
  if (failure !== undefined) return { ...run, error: error?.message ?? `${failure}; see ${shown(log)}` }
  const { epochs = [], evaluation = {} } = events.findLast(({ kind }) => kind === 'done') as EventOf<'done'>
  const metric = asked ?? ('auc' in evaluation ? 'auc' : 'loss')
  const { rankOf } = await import('../training/driver/index.ts')
  const rank = rankOf(metric, config.config.runner)
  const values = epochs.flatMap(({ test }) => (typeof test?.[metric] === 'number' ? [test[metric]] : []))
  if (values.length === 0)
    return { ...run, error: `its evaluation has no ${metric}, but ${Object.keys(evaluation).join(', ') || 'nothing'}` }
  return { ...run, metric, value: values.reduce((best, value) => (rank(value) > rank(best) ? value : best)) }
}

async function inParallel(
  items: readonly number[],
  width: number,
  signal: AbortSignal,
  work: (item: number) => Promise<void>,
): Promise<void> {
  const waiting = [...items]
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined && !signal.aborted; item = waiting.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: Math.max(1, width) }, lane))
}

/** A folder holds one sweep: results of other settings would be mixed in. */
async function sameSweep(
  { out, path, overrides, set, strategy, seed, metric }: SweepOptions,
  rungs: readonly SweepRung[],
): Promise<void> {
  const file = sweepFile(out)
  const own = { path, overrides, set, strategy, seed }
  const known = await readJson<typeof own>(file)
  const differs = Object.keys(own).find(
    (key) => known && JSON.stringify(known[key as 'path']) !== JSON.stringify(own[key as 'path']),
  )
  // How far it goes may change from one time to the next; the dashboard shows it.
  if (differs === undefined) return writeJson(file, { ...own, metric, rungs })
  const was = JSON.stringify(known![differs as 'path'])
  throw new UserError(`${shown(out)} holds a sweep with other settings: ${differs} was ${was}`, {
    code: 'SWEEP_FOLDER',
    hint: 'Repeat its command to go on with it (--runs may grow), or give another folder: --out sweep-2',
  })
}

async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T
  } catch {
    return undefined
  }
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await writeFile(`${file}.tmp`, `${JSON.stringify(value, null, 2)}\n`)
  await rename(`${file}.tmp`, file)
}

function noTestData(file: string): UserError {
  return new UserError('runner.test_data_dir: missing; a sweep compares runs by their evaluation', {
    code: 'CONFIG_MISSING_KEY',
    where: { file },
    hint: 'give the folder of the test data: -o runner.test_data_dir=FOLDER',
  })
}
