/**
 * @file A run folder made of logs: curves, epochs and checkpoints of processes whose own record lies on hosts that are out of reach. It grows with the
 * logs; what they do not say (norms, links, where time goes) is missing.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type Event, type EventOf, readPaddleLine } from '../event/index.ts'
import { CurveWriter } from './curve-file.ts'
import { EventWriter } from './event-file.ts'
import { type ProcessStatus, processName, RUN_VERSION, type RunMeta, type RunRole, runPaths } from './run-paths.ts'
import { writeStatus } from './status-file.ts'
import { TrainedCount } from './trained-count.ts'

export interface LogRunOptions {
  /** What is there goes: the logs have all of it. */
  readonly folder: string
  readonly meta: Pick<RunMeta, 'name' | 'createdAt' | 'oarfish' | 'command' | 'model'>
}

export interface LogOf {
  readonly role: RunRole
  readonly rank: number
  /** What came since the last call, to the last whole line. */
  readonly text: string
}

export class LogRun {
  readonly #folder: string
  readonly #processes = new Map<string, LogProcess>()

  constructor({ folder, meta }: LogRunOptions) {
    this.#folder = folder
    rmSync(folder, { recursive: true, force: true })
    const paths = runPaths(folder)
    for (const each of [paths.processes, paths.events, paths.curves]) mkdirSync(each, { recursive: true })
    const unknown = { node: '', platform: '', host: '', cwd: '', settings: {} }
    const source = { file: '', text: '', overrides: [] }
    const own: RunMeta = { version: RUN_VERSION, ...meta, ...unknown, source, isFromLogs: true }
    writeFileSync(paths.meta, JSON.stringify(own))
  }

  add(logs: readonly LogOf[], state: ProcessStatus['state']): void {
    for (const { role, rank, text } of logs) {
      const name = processName({ role, rank })
      const known = this.#processes.get(name) ?? new LogProcess(this.#folder, role, rank)
      this.#processes.set(name, known)
      for (const line of text.split('\n')) {
        const read = readPaddleLine(line)
        if (read) known.add(read.event, read.at)
      }
    }
    for (const process of this.#processes.values()) process.settle(state)
  }

  close(): void {
    for (const process of this.#processes.values()) process.close()
  }
}

/** Distinct metrics of a log, which is a user's to write. */
const MOST_COLUMNS = 40

class LogProcess {
  readonly #path: string
  readonly #curves: CurveWriter
  readonly #events: EventWriter
  readonly #trained = new TrainedCount()
  readonly #names = new Set<string>()
  #status: ProcessStatus
  #written = ''
  #heardAt = 0

  constructor(folder: string, role: RunRole, rank: number) {
    const paths = runPaths(folder)
    const name = processName({ role, rank })
    this.#path = paths.status(name)
    // A disk that is full leaves what there is.
    this.#curves = new CurveWriter(paths.curveFile(name), () => undefined)
    this.#events = new EventWriter(paths.eventFile(name), () => undefined)
    const where = { role, rank, pid: 0, place: '', host: '' }
    this.#status = { ...where, state: 'running', startedAt: Date.now(), updatedAt: 0, starts: 1 }
  }

  add(event: Event, at: number): void {
    this.#heardAt = at
    this.#events.add(event, at)
    this.#trained.add(event)
    const { batches: step, samples } = this.#trained.total
    if (event.kind === 'batch') this.#batch(event, at)
    else if (event.kind === 'done') this.#change({ samplesPerSecond: event.samplesPerSecond })
    else if (event.kind === 'epoch')
      this.#change(event.phase === 'infer' ? { evaluation: event.metrics } : { metrics: event.metrics })
    this.#change({ step, samples })
  }

  #batch(
    { phase, epoch, metrics, samplesPerSecond, secondsPerBatch, readerSecondsPerBatch }: EventOf<'batch'>,
    at: number,
  ) {
    for (const name of Object.keys(metrics)) if (this.#names.size < MOST_COLUMNS) this.#names.add(name)
    const own = Object.fromEntries(Object.entries(metrics).filter(([name]) => this.#names.has(name)))
    const { batches: step, samples } = this.#trained.total
    const rates = { samplesPerSecond, secondsPerBatch, waitSeconds: readerSecondsPerBatch }
    this.#curves.add({ at, step, samples, epoch, isTest: Number(phase === 'infer'), ...rates, ...own }, at)
    const waiting = secondsPerBatch > 0 ? readerSecondsPerBatch / secondsPerBatch : undefined
    this.#change({ phase, epoch, waiting, ...(phase === 'train' ? { metrics: own, samplesPerSecond } : {}) })
  }

  #change(more: Partial<ProcessStatus>): void {
    this.#status = { ...this.#status, ...more }
  }

  settle(state: ProcessStatus['state']): void {
    this.#curves.settle()
    const text = JSON.stringify({ ...this.#status, state })
    // Of a running process silence is told by this time: it is the job's to say that it runs.
    if (text === this.#written && state !== 'running') return
    this.#written = text
    writeStatus(this.#path, { ...this.#status, state, updatedAt: state === 'running' ? Date.now() : this.#heardAt })
  }

  close(): void {
    this.#curves.close()
    this.#events.close()
  }
}
