/**
 * @file What is compared between commits, driven through what does not change: the commands in bin/, `--json` events and Paddle's log lines.
 * Nothing of the package is imported. The model is the CTR DNN that each commit ships.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { at, jsonLines, median, scratch } from './tools.ts'

/** A value a round. */
export type Measured = readonly number[]

export interface ComparedData {
  readonly rows: number
  readonly train: string
  /** A few batches: where only the start is of interest, and to evaluate on. */
  readonly few: string
  readonly test: string
}

export interface Compared {
  readonly name: string
  readonly unit: 'samples/s' | 's'
  readonly measure: (folder: string, data: ComparedData) => Promise<number>
}

/** Starts are short: several make one round's value. */
const STARTS = 3
const FEW_ROWS = 10_000
const LOOK_MS = 5

export const COMPARED: Readonly<Record<string, readonly Compared[]>> = {
  speed: [1, 2].map((threads) => ({
    name: `${threads} thread${threads > 1 ? 's' : ''}`,
    unit: 'samples/s',
    measure: (folder, data) => trainSpeed(folder, data, threads),
  })),
  ps: [
    { workers: 1, threads: 2, servers: 1 },
    { workers: 2, threads: 1, servers: 2 },
  ].map((layout) => ({
    name: `async, ${layout.workers} x ${layout.threads} + ${layout.servers}`,
    unit: 'samples/s',
    measure: (folder, data) => serverSpeed(folder, data, layout, 'async'),
  })),
  geo: [
    { workers: 2, threads: 1, servers: 2 },
    { workers: 4, threads: 1, servers: 2 },
  ].map((layout) => ({
    name: `geo, ${layout.workers} x ${layout.threads} + ${layout.servers}`,
    unit: 'samples/s',
    measure: (folder, data) => serverSpeed(folder, data, layout, 'geo'),
  })),
  startup: [
    { name: 'oarfish train to the first step', unit: 's', measure: medianOf(trainStart) },
    { name: 'fleetrun to the first step', unit: 's', measure: medianOf(fleetrunStart) },
  ],
}

/** The same rows for both sides, written by this tree. */
export async function prepareData(rows: number): Promise<ComparedData> {
  const [large, small] = await Promise.all([rows, FEW_ROWS].map(criteoLike))
  return { rows, train: join(large!, 'train'), few: join(small!, 'train'), test: join(small!, 'test') }
}

async function criteoLike(rows: number): Promise<string> {
  const out = scratch(`compared-${rows}`)
  const words = ['data', 'criteo-like', '--rows', String(rows), '--seed', '1', '--parts', '8', '--out', out]
  if (!existsSync(join(out, 'test', 'part-000')))
    await jsonLines(process.execPath, [at('bin', 'oarfish.js'), ...words, '--force', '--json'])
  return out
}

async function trainSpeed(folder: string, data: ComparedData, threads: number): Promise<number> {
  const words = trainWords(folder, data, [`runner.train_data_dir=${data.train}`, `runner.thread_num=${threads}`])
  return await inScratch(async (cwd) => {
    const events = await jsonLines(process.execPath, words, {}, cwd)
    return Number(events.find(({ kind }) => kind === 'done')!['samplesPerSecond'])
  })
}

/** From the start of the process to the event of its first batch. */
async function trainStart(folder: string, data: ComparedData): Promise<number> {
  const words = trainWords(folder, data, [`runner.train_data_dir=${data.few}`, 'runner.print_interval=1'])
  return await inScratch(async (cwd) => {
    const started = performance.now()
    const child = spawn(process.execPath, words, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = exit(child, 'oarfish train')
    let seconds = 0
    for await (const line of createInterface({ input: child.stdout }))
      if (seconds === 0 && line.startsWith('{"kind":"batch"')) seconds = (performance.now() - started) / 1000
    await ended
    return firstStep(folder, seconds)
  })
}

function trainWords(folder: string, data: ComparedData, set: readonly string[]): string[] {
  return [join(folder, 'bin', 'oarfish.js'), 'train', ...modelWords(folder, data, set), '--json']
}

interface Layout {
  readonly workers: number
  readonly threads: number
  readonly servers: number
}

/** All workers together, by the line with which Paddle's trainers end an epoch. */
async function serverSpeed(folder: string, data: ComparedData, layout: Layout, mode: string): Promise<number> {
  const set = [`runner.train_data_dir=${data.train}`, `runner.thread_num=${layout.threads}`, `runner.sync_mode=${mode}`]
  return await inScratch(async (cwd) => {
    await fleetrun(folder, data, layout, set, cwd)
    const log = readFileSync(join(cwd, 'log', 'workerlog.0'), 'utf8')
    const seconds = /Epoch: 0, using time:? ([\d.]+) second/.exec(log)?.[1]
    if (seconds === undefined) throw new Error(`fleetrun of ${folder} printed no epoch:\n${log.slice(-2000)}`)
    return data.rows / Number(seconds)
  })
}

/** To the first batch in the worker's log. */
async function fleetrunStart(folder: string, data: ComparedData): Promise<number> {
  const set = [`runner.train_data_dir=${data.few}`, 'runner.print_interval=1', 'runner.sync_mode=async']
  return await inScratch(async (cwd) => {
    const started = performance.now()
    let seconds = 0
    const log = join(cwd, 'log', 'workerlog.0')
    const look = () => {
      if (seconds === 0 && existsSync(log) && readFileSync(log, 'utf8').includes('batch_id'))
        seconds = (performance.now() - started) / 1000
    }
    const looking = setInterval(look, LOOK_MS)
    await fleetrun(folder, data, { workers: 1, threads: 1, servers: 1 }, set, cwd).finally(() => clearInterval(looking))
    return firstStep(folder, seconds)
  })
}

async function fleetrun(folder: string, data: ComparedData, layout: Layout, set: readonly string[], cwd: string) {
  const launched = [`--worker_num=${layout.workers}`, `--server_num=${layout.servers}`, '--log_dir=log']
  const program = ['tools/static_ps_trainer.py', ...modelWords(folder, data, set)]
  await jsonLines(process.execPath, [join(folder, 'bin', 'fleetrun.js'), ...launched, ...program], {}, cwd)
}

function modelWords(folder: string, data: ComparedData, set: readonly string[]): string[] {
  const config = join(folder, 'models', 'rank', 'dnn', 'config_bigdata.yaml')
  const common = [`runner.test_data_dir=${data.test}`, 'runner.epochs=1', 'runner.model_save_path=']
  return ['-m', config, '-o', ...common, ...set]
}

function medianOf(measure: Compared['measure']): Compared['measure'] {
  return async (folder, data) => {
    const values: number[] = []
    for (let i = 0; i < STARTS; i++) values.push(await measure(folder, data))
    return median(values)
  }
}

function firstStep(folder: string, seconds: number): number {
  if (seconds === 0) throw new Error(`no step of ${folder} was seen`)
  return seconds
}

/** Trainers write what Paddle's write into the folder in which they run. */
async function inScratch<T>(work: (cwd: string) => Promise<T>): Promise<T> {
  const cwd = mkdtempSync(join(tmpdir(), 'oarfish-compared-'))
  try {
    return await work(cwd)
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

async function exit(child: ReturnType<typeof spawn>, name: string): Promise<void> {
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  if (code !== 0) throw new Error(`${name} ended with ${code}`)
}
