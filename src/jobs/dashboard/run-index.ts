/** @file The runs of the folders that are shown: found, summed up, and read again only where something has changed. */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import {
  ACTIVE_STATES,
  findRuns,
  type ReadFile,
  RUN_VERSION,
  type RunSummary,
  readRun,
  readSweep,
  runPaths,
  sweepFolderOf,
  sweepName,
} from '../../base/runs/index.ts'
import type { RunList, RunRow, SweepRow } from './api.ts'
import { stampOf } from './curve-cache.ts'

/** So that a link opens the same run the next day. */
const idOf = (folder: string) => createHash('sha256').update(folder).digest('base64url').slice(0, 10)

const FIND_MS = 2000

export class RunIndex {
  readonly #folders: readonly string[]
  readonly #version: string
  readonly #readFile: ReadFile | undefined
  readonly #known = new Map<string, { readonly stamp: string; readonly run: RunSummary | undefined }>()
  #ids = new Map<string, string>()
  #foundAt = Number.NEGATIVE_INFINITY

  constructor(folders: readonly string[], version: string, read?: ReadFile) {
    this.#folders = folders
    this.#version = version
    this.#readFile = read
  }

  /** Undefined: there is no such run (any more). */
  run(id: string): RunSummary | undefined {
    if (!this.#ids.has(id)) this.#find(0)
    const folder = this.#ids.get(id)
    return folder === undefined ? undefined : this.#read(folder)
  }

  list(): RunList {
    this.#find(FIND_MS)
    const runs = [...this.#ids.values()].map((folder) => this.#read(folder))
    const read = runs.flatMap((run) => run ?? [])
    const differing = differingKeys(read)
    const sweeps = sweepsOf(read, this.#readFile)
    const rows = read
      .map((run) => ({ ...rowOf(run, differing), sweep: sweeps.get(sweepFolderOf(run.folder))?.name }))
      .sort((a, b) => b.createdAt - a.createdAt)
    const known = { version: this.#version, folders: this.#folders, sweeps: [...sweeps.values()] }
    return { ...known, runs: rows, unreadable: runs.length - read.length }
  }

  #find(olderThanMs: number): void {
    if (performance.now() - this.#foundAt < olderThanMs) return
    this.#ids = new Map(findRuns(this.#folders).map((folder) => [idOf(folder), folder]))
    this.#foundAt = performance.now()
  }

  #read(folder: string): RunSummary | undefined {
    const stamp = stampOfRun(folder)
    const known = this.#known.get(folder)
    // What runs may have died without a trace in its files.
    if (known?.stamp === stamp && !(known.run && ACTIVE_STATES.includes(known.run.state))) return known.run
    const run = readRun(folder, Date.now(), this.#readFile)
    this.#known.set(folder, { stamp, run })
    return run
  }
}

/** By their folders. */
function sweepsOf(runs: readonly RunSummary[], read?: ReadFile): ReadonlyMap<string, SweepRow> {
  const folders = [...new Set(runs.map(({ folder }) => sweepFolderOf(folder)))]
  const found = folders.flatMap((folder) => {
    const plan = readSweep(folder, read)
    if (!plan) return []
    const { set, strategy, metric, rungs } = plan
    const keys = set.map((one) => one.slice(0, one.indexOf('=')))
    return [[folder, { name: sweepName(folder), strategy, keys, metric, rungs }] as const]
  })
  return new Map(found)
}

/** Statuses are replaced, which changes their folder. */
const stampOfRun = (folder: string) =>
  [runPaths(folder).meta, runPaths(folder).tags, runPaths(folder).processes]
    .map((path) => stampOf(path) ?? '')
    .join('|')

/** Settings that are not the same in all runs; paths of data and models say little in a list. */
function differingKeys(runs: readonly RunSummary[]): ReadonlySet<string> {
  const first = new Map<string, string>()
  const differing = new Set<string>()
  for (const { meta } of runs)
    for (const [key, value] of Object.entries(meta.settings ?? {})) {
      const text = JSON.stringify(value)
      if (!first.has(key)) first.set(key, text)
      else if (first.get(key) !== text) differing.add(key)
    }
  for (const { meta } of runs) for (const key of first.keys()) if (!(key in (meta.settings ?? {}))) differing.add(key)
  return differing
}

const ALWAYS = /^hyper_parameters\./
const NOT_SHOWN = /(_path|_dir|^config|table_parameters.*)$/

export function rowOf(run: RunSummary, differing: ReadonlySet<string>): RunRow {
  const { meta, lead, folder, state, tags, processes, updatedAt } = run
  const shown = Object.entries(meta.settings ?? {}).filter(
    ([key]) => !NOT_SHOWN.test(key) && (differing.has(key) || ALWAYS.test(key)),
  )
  const { epoch, fraction, step } = lead ?? {}
  // Passes of online training go on beyond any number of epochs.
  const epochs = lead?.epochs !== undefined && (epoch ?? 0) >= lead.epochs ? undefined : lead?.epochs
  const isOver = state === 'done'
  const done = epoch === undefined ? undefined : epoch + (lead?.phase === 'infer' ? 1 : (fraction ?? 0))
  const progress = isOver ? 1 : done === undefined || !epochs ? undefined : Math.min(1, done / epochs)
  return {
    id: idOf(folder),
    name: meta.name,
    folder,
    model: basename(String(meta.model ?? '')),
    state,
    createdAt: meta.createdAt,
    updatedAt,
    tags,
    processes: processes.length,
    epoch,
    epochs,
    progress,
    step,
    samplesPerSecond: rateOf(run),
    metrics: lead?.metrics ?? {},
    test: lead?.evaluation ?? {},
    best: isOver ? lead?.best : undefined,
    error: processes.find(({ error }) => error !== undefined)?.error,
    settings: Object.fromEntries(shown),
    isNewer: meta.version > RUN_VERSION,
  }
}

/** Of the whole job: its end tells, until then its workers together. */
function rateOf({ lead, processes }: RunSummary): number | undefined {
  if (lead?.now !== 'running' || lead.role !== 'worker') return lead?.samplesPerSecond
  const workers = processes.filter(({ role, now }) => role === 'worker' && now === 'running')
  return workers.reduce((sum, { samplesPerSecond = 0 }) => sum + samplesPerSecond, 0)
}

/** Names of processes that have curves. */
export function curvesOf(folder: string): readonly string[] {
  try {
    return readdirSync(runPaths(folder).curves)
      .flatMap((name) => (name.endsWith('.curve') ? [name.slice(0, -'.curve'.length)] : []))
      .sort(byNumber)
  } catch {
    return []
  }
}

const byNumber = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true })
