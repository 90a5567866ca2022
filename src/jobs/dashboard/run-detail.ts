/** @file One run in full, from its events, statuses and curves. */
import { readdirSync } from 'node:fs'
import { processText } from '../../base/event/index.ts'
import {
  type Curves,
  type ReadFile,
  type RunSummary,
  readEvents,
  readImportance,
  runPaths,
  type SeenProcess,
  type TimedEvent,
} from '../../base/runs/index.ts'
import type { EpochRow, Mark, ProcessRow, RunDetail, Values } from './api.ts'
import type { CurveCache } from './curve-cache.ts'
import { hintsOf } from './hints.ts'
import { onlineOf } from './online.ts'
import { curvesOf, rowOf } from './run-index.ts'

const MOST_MESSAGES = 500

export function detailOf(run: RunSummary, cache: CurveCache, read?: ReadFile): RunDetail {
  const { folder, meta } = run
  const files = eventFiles(folder).map((name) => ({ name, ...readEvents(runPaths(folder).eventFile(name), read) }))
  const curves = new Map(curvesOf(folder).map((name) => [name, cache.read(runPaths(folder).curveFile(name))]))
  const damaged =
    files.reduce((sum, file) => sum + file.damaged, 0) + [...curves.values()].reduce((sum, one) => sum + one.damaged, 0)
  const lead = files.find(({ name }) => name === run.lead?.name)?.events ?? []
  const processes = run.processes.map((process) => processRow(process, curves.get(process.name)))
  const row = rowOf(run, new Set(Object.keys(meta.settings ?? {})))
  const epochs = epochsOf(lead, run.lead?.best?.epoch)
  const columns = [...new Set([...curves.values()].flatMap(({ names }) => names))]
  const { host, oarfish, node, commit, command, settings, source } = meta
  const about = { host, oarfish, node, commit, command: command ?? [], settings: settings ?? {}, source }
  const seen = { row, processes, epochs, damaged }
  const messages = files.flatMap(({ name, events }) => events.flatMap((event) => messageOf(name, event)))
  return {
    ...about,
    ...seen,
    marks: files
      .flatMap(({ name, events }) => events.flatMap((event) => markOf(name, event)))
      .sort((a, b) => a.at - b.at),
    hints: [...(meta.isFromLogs ? [{ kind: 'fromLogs', values: {} } as const] : []), ...hintsOf(seen)],
    messages: messages.sort((a, b) => a.at - b.at).slice(-MOST_MESSAGES),
    columns: columns.filter((name) => !HIDDEN.has(name)),
    importance: readImportance(folder, read),
    online: onlineOf(
      meta,
      files.flatMap(({ events }) => events),
      read,
    ),
  }
}

const HIDDEN: ReadonlySet<string> = new Set(['at', 'step', 'samples', 'epoch', 'isTest'])

function eventFiles(folder: string): readonly string[] {
  try {
    return readdirSync(runPaths(folder).events).flatMap((name) =>
      /^[\w-]+\.jsonl$/.test(name) ? [name.slice(0, -'.jsonl'.length)] : [],
    )
  } catch {
    return []
  }
}

/** Over so many of the newest rows. */
const NEWEST = 50

function processRow(process: SeenProcess, curves: Curves | undefined): ProcessRow {
  const { name, role, rank, host, pid, now, starts, updatedAt, step, samplesPerSecond, waiting, memory, log, error } =
    process
  // What a process says at its end is the rate of the whole job.
  const own = now === 'done' && curves ? newestMean(curves, 'samplesPerSecond') : Number.NaN
  const rate = Number.isFinite(own) ? own : samplesPerSecond
  const numbers = {
    step,
    samplesPerSecond: rate,
    waiting: curves ? newestWaiting(curves, waiting) : waiting,
    memory,
  }
  const parts = curves ? partsOf(curves) : {}
  return {
    name,
    role,
    rank,
    host,
    pid,
    state: now,
    starts,
    updatedAt,
    ...numbers,
    staleness: process.staleness,
    links: process.links ?? [],
    tables: process.tables ?? [],
    hasLog: log !== undefined,
    error,
    parts,
  }
}

function newestMean(curves: Curves, name: string): number {
  const newest = (curves.column(name, NEWEST) ?? new Float64Array()).filter((value) => Number.isFinite(value))
  return newest.length === 0 ? Number.NaN : newest.reduce((sum, value) => sum + value, 0) / newest.length
}

function newestWaiting(curves: Curves, last: number | undefined): number | undefined {
  const share = newestMean(curves, 'waitSeconds') / newestMean(curves, 'secondsPerBatch')
  return Number.isFinite(share) ? Math.min(1, share) : last
}

/** Parts of a batch's time under the words that people know, and what is left of the time between two batches. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  read: ['load'],
  lookup: ['lookup'],
  pull: ['gather'],
  compute: ['run', 'trace', 'read'],
  push: ['merge', 'update'],
}

function partsOf(curves: Curves): Values {
  const parts = Object.entries(WORDS).map(([word, names]) => {
    const seconds = names.map((name) => newestMean(curves, `time.${name}`)).filter((one) => Number.isFinite(one))
    return [word, seconds.reduce((sum, one) => sum + one, 0)] as const
  })
  const wait = newestMean(curves, 'waitSeconds')
  return Object.fromEntries([...parts, ['wait', Number.isFinite(wait) ? wait : 0]])
}

function epochsOf(events: readonly TimedEvent[], best: number | undefined): EpochRow[] {
  const rows = new Map<number, EpochRow>()
  const change = (epoch: number, more: Partial<EpochRow>) => {
    rows.set(epoch, { ...(rows.get(epoch) ?? { epoch, isBest: epoch === best }), ...more })
  }
  for (const event of events) {
    if (event.kind === 'epoch') {
      const { epoch, metrics, seconds, slices, reports, calibration } = event
      const tested = { test: metrics, slices, reports, calibration }
      // Without test data what is known is of training.
      change(epoch, event.phase === 'train' ? { train: metrics, seconds, calibration } : tested)
    }
    if (event.kind === 'saved' && event.batch === undefined)
      change(event.epoch, { saved: event.path, bytes: event.bytes })
  }
  return [...rows.values()].sort((a, b) => a.epoch - b.epoch)
}

function markOf(process: string, event: TimedEvent): Mark[] {
  const { at } = event
  if (event.kind === 'saved') return [{ at, kind: 'saved', text: event.path }]
  if (event.kind === 'loaded') return [{ at, kind: 'loaded', text: event.path }]
  if (event.kind === 'ready' && process !== 'launcher') return [{ at, kind: 'start', text: process }]
  if (event.kind === 'interrupted') return [{ at, kind: 'end', text: process }]
  if (event.kind === 'error') return [{ at, kind: 'failed', text: `${process}: ${event.message}` }]
  if (event.kind === 'process' && event.state === 'failed') return [{ at, kind: 'failed', text: processText(event) }]
  if (event.kind === 'notice' && event.message.startsWith('Starting again'))
    return [{ at, kind: 'restart', text: event.message }]
  return []
}

function messageOf(process: string, event: TimedEvent): RunDetail['messages'][number][] {
  const { at, kind } = event
  if (kind === 'notice' || kind === 'warning' || kind === 'error') return [{ at, process, kind, text: event.message }]
  return kind === 'process' ? [{ at, process, kind, text: processText(event) }] : []
}
