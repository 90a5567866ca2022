/** @file A run as a list shows it: from its small files alone, without its events. */
import { readdirSync } from 'node:fs'
import { isRunning, processPlace, processStart } from '../util/index.ts'
import type { ReadFile } from './read-plain.ts'
import { type ProcessStatus, processName, type RunMeta, type RunState, runPaths } from './run-paths.ts'
import { readJson, readStatus, replaceFile } from './status-file.ts'

/** What is known of a process, and what it is now. */
export type SeenProcess = ProcessStatus & { readonly name: string; readonly now: RunState }

export interface RunSummary {
  readonly folder: string
  readonly meta: RunMeta
  readonly state: RunState
  readonly tags: readonly string[]
  readonly processes: readonly SeenProcess[]
  /** Of the process that says most: the one alone, worker or rank 0. */
  readonly lead: SeenProcess | undefined
  readonly updatedAt: number
}

const SILENT_MS = 60_000

/** Undefined: the folder is no run. */
export function readRun(folder: string, nowMs = Date.now(), read?: ReadFile): RunSummary | undefined {
  const meta = readJson(runPaths(folder).meta, read) as RunMeta | undefined
  if (typeof meta?.name !== 'string' || typeof meta.version !== 'number') return undefined
  const processes = namesIn(runPaths(folder).processes).flatMap((file) => {
    const status = readStatus(runPaths(folder).status(file), read)
    return status ? [{ ...status, name: processName(status), now: stateOf(status, nowMs) }] : []
  })
  const inOrder = processes.sort((a, b) => a.role.localeCompare(b.role) || a.rank - b.rank)
  const trainers = inOrder.filter(({ role }) => role !== 'server')
  const updatedAt = Math.max(meta.createdAt, ...inOrder.map((one) => one.updatedAt))
  const lead = trainers[0] ?? inOrder[0]
  return { folder, meta, state: together(inOrder), tags: readTags(folder, read), processes: inOrder, lead, updatedAt }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []))
  } catch {
    return []
  }
}

let here: string | undefined

/** Whether what says that it runs does: asked of the system on the same machine, of its last sign of life elsewhere. */
export function stateOf(status: ProcessStatus, nowMs: number): RunState {
  if (status.state !== 'running') return status.state
  here ??= processPlace()
  if (status.place !== here) return nowMs - status.updatedAt > SILENT_MS ? 'silent' : 'running'
  const isThere = status.start === undefined ? isRunning(status.pid) : processStart(status.pid) === status.start
  return isThere ? 'running' : 'died'
}

/** The worst that one of them is; a run is over when all are. */
function together(processes: readonly SeenProcess[]): RunState {
  const order: readonly RunState[] = ['failed', 'running', 'silent', 'died', 'stopped', 'done']
  const states = processes.map(({ now }) => now)
  return order.find((state) => states.includes(state)) ?? 'died'
}

export function readTags(folder: string, read?: ReadFile): readonly string[] {
  const value = readJson(runPaths(folder).tags, read)
  return Array.isArray(value) ? value.filter((tag) => typeof tag === 'string') : []
}

export function writeTags(folder: string, tags: readonly string[]): void {
  replaceFile(runPaths(folder).tags, `${JSON.stringify([...new Set(tags)])}\n`)
}
