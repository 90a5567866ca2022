/** @file What a process adds to its run folder: its events, curves and how far it is. It costs a few small writes a second and never stops training. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Env, startedAgain } from '../env/index.ts'
import type { Event, EventOf, EventSink, TableSize } from '../event/index.ts'
import { formatUserError, isUserError, processPlace, processStart } from '../util/index.ts'
import { claimRun, type RecordedConfig } from './claim-run.ts'
import { CurveWriter } from './curve-file.ts'
import { EventWriter } from './event-file.ts'
import { noteRun } from './log-note.ts'
import { type RunIdentity, type RunPart, runIdentity } from './run-name.ts'
import { type ProcessStatus, processName, runPaths } from './run-paths.ts'
import { readStatus, writeStatus } from './status-file.ts'
import { TrainedCount } from './trained-count.ts'
import { openWatchers } from './watchers.ts'

export interface RecordOptions {
  readonly config: RecordedConfig
  readonly env: Env
  /** @default as the environment says */
  readonly part?: RunPart | undefined
  /** The run goes on from a checkpoint; with its name given, its folder goes on too. */
  readonly resume?: boolean | undefined
  readonly emit: EventSink
}

export interface Recorder {
  readonly folder: string
  /** Adds the event. */
  readonly add: EventSink
  /** How it ended: by itself, by this error, or when it was asked to. */
  end(how: 'done' | 'stopped' | { readonly error: unknown }): void
  /** The run was refused before it began: what was made for it goes, where nobody else has a part in it. */
  withdraw(): void
}

/** Runs `work` with a sink that also records, and feeds who else was asked for; what goes wrong there is said, and never ends the run. */
export async function recordRun<Result>(
  options: RecordOptions,
  work: (emit: EventSink) => Promise<Result>,
): Promise<Result> {
  const recorder = openRecorder(options)
  const watchers = await openWatchers(options, recorder?.folder)
  let [wasStopped, hasBegun] = [false, false]
  const adds = [...(recorder ? [recorder] : []), ...watchers].map(({ add }) => guarded(add, options.emit))
  const emit: EventSink = (event) => {
    if (event.kind === 'interrupted') wasStopped = true
    if (event.kind === 'start') hasBegun = true
    for (const add of adds) add(event)
    options.emit(event)
  }
  try {
    const result = await work(emit)
    recorder?.end(wasStopped ? 'stopped' : 'done')
    return result
  } catch (error) {
    recorder?.end({ error })
    // A mistake in a config is mended and tried again: each attempt would leave a run that never was.
    if (isUserError(error) && !hasBegun) recorder?.withdraw()
    throw error
  } finally {
    for (const watcher of watchers) await watcher.close()
  }
}

/** What goes wrong is said once, and what comes after is tried again. */
export function guarded(add: EventSink, emit: EventSink): EventSink {
  let hasWarned = false
  return (event) => {
    try {
      add(event)
    } catch (error) {
      if (!hasWarned) emit({ kind: 'warning', message: `This run is not recorded whole: ${(error as Error).message}` })
      hasWarned = true
    }
  }
}

/** Undefined: there is no place for it, or none that can be written, which is said. */
export function openRecorder({ config, env, part, resume = false, emit }: RecordOptions): Recorder | undefined {
  const identity = runIdentity(config.config, env, part)
  if (!identity) return undefined
  try {
    const folder = claimRun(identity.folder, { config, env, resume: resume || startedAgain(env) })
    for (const each of ['processes', 'events', 'curves'] as const)
      mkdirSync(runPaths(folder)[each], { recursive: true })
    const log = env['OARFISH_LOG_FILE']
    if (log) noteRun(log, folder)
    return new RunRecorder(folder, identity, log, emit)
  } catch (error) {
    emit({ kind: 'warning', message: `This run is not recorded: ${(error as Error).message}` })
    return undefined
  }
}

const STATUS_MS = 2000

class RunRecorder implements Recorder {
  readonly folder: string
  readonly #emit: EventSink
  readonly #events: EventWriter
  readonly #curves: CurveWriter
  readonly #name: string
  readonly #timer: NodeJS.Timeout
  readonly #atExit = () => this.#close()
  #status: ProcessStatus
  #warned = false
  #trained = new TrainedCount()

  constructor(folder: string, { role, rank }: RunIdentity, log: string | undefined, emit: EventSink) {
    this.folder = folder
    this.#emit = emit
    this.#name = processName({ role, rank })
    const paths = runPaths(folder)
    const known = readStatus(paths.status(this.#name))
    const now = Date.now()
    const where = { place: processPlace(), host: hostname(), start: processStart(process.pid) }
    // One process may run twice: training, then evaluation.
    const isSame = known?.pid === process.pid && known.start === where.start
    const starts = (known?.starts ?? 0) + (isSame ? 0 : 1)
    this.#status = {
      role,
      rank,
      pid: process.pid,
      ...where,
      state: 'running',
      startedAt: now,
      updatedAt: now,
      starts,
      log,
    }
    if (known?.step !== undefined)
      this.#trained = new TrainedCount({ batches: known.step, samples: known.samples ?? 0 })
    const failed = (error: Error) => this.#warn(error)
    this.#events = new EventWriter(paths.eventFile(this.#name), failed)
    this.#curves = new CurveWriter(paths.curveFile(this.#name), failed)
    this.#writeStatus()
    this.#timer = setInterval(() => {
      this.#curves.settle()
      this.#writeStatus()
    }, STATUS_MS).unref()
    process.once('exit', this.#atExit)
  }

  readonly add: EventSink = (event) => {
    const now = Date.now()
    this.#events.add(event, now)
    this.#trained.add(event)
    const { batches: step, samples } = this.#trained.total
    if (event.kind === 'batch') this.#batch(event, now)
    else if (event.kind === 'tables') this.#tables(event, now)
    else if (event.kind === 'epoch') this.#status = { ...this.#status, ...changeOf(event), step, samples }
    else this.#status = { ...this.#status, ...changeOf(event) }
  }

  #batch(event: EventOf<'batch'>, now: number): void {
    const { epoch, metrics, samplesPerSecond, secondsPerBatch, readerSecondsPerBatch, phase, fraction } = event
    const isTest = phase === 'infer'
    const { batches: step, samples } = this.#trained.total
    const rates = { samplesPerSecond, secondsPerBatch, waitSeconds: readerSecondsPerBatch }
    const { memory = Number.NaN, tables } = this.#status
    const columns = { ...rates, ...metrics, ...timesOf(event), ...stepColumns(event), memory, ...tableColumns(tables) }
    this.#curves.add({ at: now, step, samples, epoch, isTest: Number(isTest), ...columns }, now)
    const waiting = secondsPerBatch > 0 ? readerSecondsPerBatch / secondsPerBatch : undefined
    const { staleness = this.#status.staleness, links = this.#status.links } = event
    const far = { phase, epoch, fraction, step, samples }
    this.#status = { ...this.#status, ...far, samplesPerSecond, waiting, metrics, staleness, links }
  }

  /** Trainers have it in the rows of their batches; a server has no others. */
  #tables({ step = this.#trained.total.batches, tables }: EventOf<'tables'>, now: number): void {
    const isServer = this.#status.role === 'server'
    this.#status = { ...this.#status, tables, ...(isServer ? { step } : {}) }
    if (!isServer) return
    const memory = process.memoryUsage.rss()
    const place = { at: now, step, samples: Number.NaN, epoch: Number.NaN, isTest: 0 }
    this.#curves.add({ ...place, memory, ...tableColumns(tables) }, now)
  }

  #writeStatus(): void {
    this.#status = { ...this.#status, updatedAt: Date.now(), memory: process.memoryUsage.rss() }
    try {
      writeStatus(runPaths(this.folder).status(this.#name), this.#status)
    } catch (error) {
      this.#warn(error as Error)
    }
  }

  #warn(error: Error): void {
    if (this.#warned) return
    this.#warned = true
    this.#emit({ kind: 'warning', message: `This run is recorded no further: ${error.message}` })
  }

  end(how: 'done' | 'stopped' | { readonly error: unknown }): void {
    if (typeof how === 'string') this.#status = { ...this.#status, state: how }
    else {
      const event = errorEvent(how.error)
      this.#events.add(event, Date.now())
      this.#status = { ...this.#status, state: 'failed', error: event.message }
    }
    process.off('exit', this.#atExit)
    this.#close()
  }

  withdraw(): void {
    const { processes } = runPaths(this.folder)
    const own = `${this.#name}.json`
    try {
      const isAlone = readdirSync(processes).every((name) => name === own || name.startsWith(`${own}.`))
      if (isAlone && this.#status.starts === 1) rmSync(this.folder, { recursive: true, force: true })
    } catch {
      // Then it stays, as the run that failed.
    }
  }

  #close(): void {
    clearInterval(this.#timer)
    this.#curves.close()
    this.#events.close()
    this.#writeStatus()
  }
}

/** Seconds of a batch by part, as columns. */
function timesOf({ breakdown = {} }: EventOf<'batch'>): Record<string, number> {
  return Object.fromEntries(Object.entries(breakdown).map(([part, seconds]) => [`time.${part}`, seconds]))
}

/** What a step says beside its metrics, as columns. */
function stepColumns({ learningRate, staleness, norms, links }: EventOf<'batch'>): Record<string, number> {
  const named = Object.entries(norms ?? {}).map(([name, value]) => [`norm.${name}`, value] as const)
  const sum = (key: 'sentBytesPerSecond' | 'receivedBytesPerSecond') =>
    (links ?? []).reduce((all, link) => all + link[key], 0)
  return {
    ...(learningRate === undefined ? {} : { learning_rate: learningRate }),
    ...(staleness === undefined ? {} : { staleness }),
    ...Object.fromEntries(named),
    ...(links ? { 'link.sent': sum('sentBytesPerSecond'), 'link.received': sum('receivedBytesPerSecond') } : {}),
  }
}

/** By table and level; a disk that has nothing has no curve. */
function tableColumns(tables: readonly TableSize[] = []): Record<string, number> {
  const columns = tables.flatMap(({ table, memoryRows, memoryBytes, diskRows, diskBytes }) => [
    [`table.${table}.memory_rows`, memoryRows] as const,
    [`table.${table}.memory_bytes`, memoryBytes] as const,
    ...(diskBytes > 0
      ? [[`table.${table}.disk_rows`, diskRows] as const, [`table.${table}.disk_bytes`, diskBytes] as const]
      : []),
  ])
  return Object.fromEntries(columns)
}

/** What an event changes in the status. */
function changeOf(event: Event): Partial<ProcessStatus> {
  if (event.kind === 'start') {
    const epochs = event.settings['runner.epochs']
    return typeof epochs === 'number' ? { epochs } : {}
  }
  if (event.kind === 'epoch')
    return event.phase === 'infer' ? { evaluation: event.metrics } : { metrics: event.metrics }
  if (event.kind !== 'done') return {}
  const { metrics, evaluation, best, samplesPerSecond } = event
  return { metrics, samplesPerSecond, ...(evaluation ? { evaluation } : {}), ...(best ? { best } : {}) }
}

function errorEvent(error: unknown): EventOf<'error'> {
  const message = isUserError(error) ? formatUserError(error) : error instanceof Error ? error.message : String(error)
  return { kind: 'error', code: isUserError(error) ? error.code : 'BUG', message }
}
