/** @file A run folder without a run: written by what writes real ones, for tests of the page and its benchmark. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { EventOf } from '../../base/event/index.ts'
import {
  CurveWriter,
  EventWriter,
  FOLLOWERS_FOLDER,
  noteRun,
  openFollowerNote,
  type ProcessStatus,
  processName,
  RUN_VERSION,
  runPaths,
} from '../../base/runs/index.ts'

export interface ExampleRun {
  /** Printed batches of each worker. */
  readonly rows: number
  /** 0: one process alone. With workers there is a server. */
  readonly workers?: number
  readonly name?: string
  readonly state?: ProcessStatus['state']
  readonly learningRate?: number
  /** Added to a log line, a warning and a setting. */
  readonly text?: string
  readonly createdAt?: number
  /** Of online training: so many versions are published, the first is a base. */
  readonly versions?: number
}

const BATCH = { samplesPerSecond: 150_000, secondsPerBatch: 0.003, waitSeconds: 0.0002 }
const PARTS = {
  'time.load': 1e-4,
  'time.lookup': 6e-4,
  'time.gather': 3e-4,
  'time.run': 12e-4,
  'time.merge': 2e-4,
  'time.update': 3e-4,
}
const INSIDE = {
  learning_rate: 0.001,
  staleness: 1.2,
  'norm.weights': 24,
  'norm.gradients': 0.3,
  'link.sent': 3.1e6,
  'link.received': 2.4e6,
  memory: 412e6,
}
const TABLE = { table: 'embedding', memoryRows: 90_000, memoryBytes: 7.2e6, diskRows: 410_000, diskBytes: 31e6 }
const CALIBRATION = Array.from({ length: 20 }, (_, i) => ({
  to: (i + 1) / 40,
  samples: 500,
  predicted: (i + 0.5) / 40,
  happened: ((i + 0.5) / 40) ** 1.1,
}))
const LOG_LINES = 1000
const fail = (error: Error) => {
  throw error
}

export function writeRun(folder: string, run: ExampleRun): void {
  const {
    workers = 0,
    name = basename(folder),
    learningRate = 0.001,
    text = '',
    createdAt = Date.now() - run.rows * 1000,
  } = run
  const paths = runPaths(folder)
  for (const each of [paths.processes, paths.events, paths.curves]) mkdirSync(each, { recursive: true })
  const settings = {
    'runner.epochs': 2,
    'hyper_parameters.optimizer.learning_rate': learningRate,
    'hyper_parameters.note': text,
    'runner.model_save_path': join(folder, 'published'),
  }
  const about = {
    oarfish: '0.1.0',
    node: process.version,
    platform: 'linux x64',
    host: 'host-1',
    cwd: folder,
    command: ['oarfish', 'train'],
  }
  const source = { file: 'config.yaml', text: 'runner:\n  epochs: 2\n', overrides: [] }
  writeFileSync(
    paths.meta,
    JSON.stringify({ version: RUN_VERSION, name, createdAt, ...about, model: 'models/rank/dnn', settings, source }),
  )
  const log = join(folder, 'workerlog.0')
  writeFileSync(log, Array.from({ length: LOG_LINES }, (_, i) => `line ${i + 1} ${text}\n`).join(''))
  noteRun(log, folder)
  const roles =
    workers === 0
      ? [{ role: 'local', rank: 0 } as const]
      : [
          { role: 'server', rank: 0 } as const,
          ...Array.from({ length: workers }, (_, rank) => ({ role: 'worker', rank }) as const),
        ]
  for (const own of roles) {
    writeEvents(paths.eventFile(processName(own)), run, createdAt, own.rank)
    if (own.role === 'server') writeTables(paths.curveFile(processName(own)), createdAt)
    else writeCurves(paths.curveFile(processName(own)), run.rows, createdAt, own.rank)
    writeFileSync(paths.status(processName(own)), JSON.stringify(statusOf(own, run, createdAt, log)))
  }
}

function writeCurves(path: string, rows: number, createdAt: number, rank: number): void {
  const writer = new CurveWriter(path, fail)
  for (let i = 0; i < rows; i++) {
    const noise = ((Math.imul(i + 1, 2654435761) >>> 8) % 1000) / 1e5 + rank / 500
    const metrics = {
      loss: 0.45 + 0.2 * Math.exp((-6 * i) / rows) + noise,
      auc: 0.75 - 0.12 * Math.exp((-5 * i) / rows) + noise / 4,
    }
    writer.add(
      {
        at: createdAt + i * 1000,
        step: 10 * (i + 1),
        samples: 5120 * (i + 1),
        epoch: Math.floor((2 * i) / rows),
        isTest: 0,
        ...BATCH,
        ...metrics,
        ...PARTS,
        ...INSIDE,
      },
      0,
    )
  }
  writer.close()
}

/** A server's: how its table grows. */
function writeTables(path: string, createdAt: number): void {
  const writer = new CurveWriter(path, fail)
  for (let i = 0; i < 200; i++) {
    const sizes = { 'table.embedding.memory_rows': Math.min(90_000, 1000 * i), 'table.embedding.disk_rows': 2000 * i }
    const place = { at: createdAt + 2000 * i, step: 100 * i, samples: Number.NaN, epoch: Number.NaN, isTest: 0 }
    writer.add({ ...place, memory: 155e6, ...sizes }, 0)
  }
  writer.close()
}

function writeEvents(
  path: string,
  { rows, text = '', versions = 0 }: ExampleRun,
  createdAt: number,
  rank: number,
): void {
  const writer = new EventWriter(path, fail)
  writer.add({ kind: 'ready', startupSeconds: 1 }, createdAt)
  for (const epoch of rank === 0 ? [0, 1] : []) {
    const at = createdAt + (epoch + 1) * rows * 500
    const rates = { samples: 1e6, seconds: rows / 2, samplesPerSecond: 150_000 }
    writer.add(
      { kind: 'epoch', phase: 'train', epoch, ...rates, metrics: { loss: 0.5 - epoch / 50, auc: 0.72 + epoch / 50 } },
      at,
    )
    writer.add({ kind: 'saved', path: `model_output/${epoch}`, epoch, bytes: 48_000_000, seconds: 1 }, at)
    writer.add(
      {
        ...{ kind: 'epoch', phase: 'infer', epoch, ...rates },
        metrics: { loss: 0.51 - epoch / 50, auc: 0.71 + epoch / 50 },
        calibration: { auc: CALIBRATION },
      },
      at + 1000,
    )
    writer.add({ kind: 'warning', message: `log loss rises ${text}` }, at + 2000)
  }
  for (let i = 0; i < (rank === 0 ? versions : 0); i++) writer.add(publishedAt(i, createdAt), createdAt + 60_000 * i)
  writer.close()
}

const publishedAt = (i: number, createdAt: number): EventOf<'published'> => ({
  kind: 'published',
  version: i === 0 ? 'base' : 'delta',
  ...{ sequence: i + 1, day: '20190720', pass: i, gone: i, publishedAt: createdAt + 60_000 * i },
  ...(i === 0 ? { rows: 90_000, bytes: 7e6 } : { rows: 4000 + 10 * i, bytes: 3e5 }),
})

/** A server that follows such a run, as it notes it; it took up all versions but the last `behind`. */
export function writeFollower(folder: string, name: string, versions: number, behind = 0): void {
  const { createdAt } = JSON.parse(readFileSync(runPaths(folder).meta, 'utf8')) as { createdAt: number }
  const taken = Array.from({ length: versions - 1 - behind }, (_, i) => {
    const lagSeconds = 1.5 + (i % 3)
    return { sequence: i + 2, at: createdAt + 60_000 * (i + 1) + 1000 * lagSeconds, lagSeconds }
  })
  const served = versions - behind
  const place = { version: `20190720/${served - 1}`, sequence: served, rowsApplied: 4000 * served }
  const state = { lagSeconds: behind > 0 ? 75 : 0, pinned: null, waiting: behind > 0 ? 'a version is damaged' : null }
  openFollowerNote(join(folder, 'published', FOLLOWERS_FOLDER), name).note({ ...place, ...state, taken })
}

/** The last of three is slow: it waits for the server. */
const linkOf = (rank: number) => ({
  to: 'server-0',
  sentBytesPerSecond: 3.1e6,
  receivedBytesPerSecond: 2.4e6 / (rank + 1),
  answerSeconds: 0.0009 * (rank + 1),
  busy: 0.15 * (rank + 1),
})

/** `died` is seen of a process that says it runs: its number is that of none. */
function statusOf(
  { role, rank }: Pick<ProcessStatus, 'role' | 'rank'>,
  { state = 'done', rows }: ExampleRun,
  startedAt: number,
  log: string,
): ProcessStatus {
  const where = { pid: process.pid, place: 'elsewhere', host: 'host-1' }
  const done = {
    phase: 'train',
    epoch: 1,
    epochs: 2,
    fraction: 0.5,
    step: rows * 10,
    samples: rows * 5120,
    samplesPerSecond: 150_000,
    waiting: 0.07,
    memory: 412e6,
  }
  const measured = {
    metrics: { loss: 0.46, auc: 0.75 },
    evaluation: { loss: 0.48, auc: 0.73 },
    best: { epoch: 1, metric: 'auc', value: 0.73 },
  }
  const inside =
    role === 'server' ? { tables: [TABLE] } : role === 'worker' ? { staleness: 1.2, links: [linkOf(rank)] } : {}
  return {
    role,
    rank,
    ...where,
    ...inside,
    state,
    startedAt,
    updatedAt: state === 'running' ? Date.now() : startedAt + rows * 1000,
    starts: 1,
    log,
    ...done,
    ...measured,
  }
}
