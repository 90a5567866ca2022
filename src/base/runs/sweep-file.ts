/** @file What a sweep tries, in a file beside its runs: written by the sweep, read by who shows them. */
import { basename, dirname, join } from 'node:path'
import type { ReadFile } from './read-plain.ts'
import { readJson } from './status-file.ts'

export interface SweepPlan {
  readonly strategy: string
  /** `KEY=log:1e-4..1e-2`. */
  readonly set: readonly string[]
  /** Epochs that the runs of a rung have in all, and how many runs come that far; one rung where none is given up. */
  readonly rungs: readonly SweepRung[]
  /** What runs are compared by. @default auc, else loss */
  readonly metric?: string | undefined
}

export interface SweepRung {
  readonly epochs: number
  readonly runs: number
}

export const sweepFile = (folder: string) => join(folder, 'sweep.json')

/** Of the sweep that made a run, if one did: `sweep/runs/run-007`. */
export const sweepFolderOf = (run: string) => dirname(dirname(run))

/** Two sweeps may both be called `sweep`. */
export const sweepName = (folder: string) => `${basename(dirname(folder))}/${basename(folder)}`

/** Undefined: no sweep is there. One of an earlier version does not say how far it will go. */
export function readSweep(folder: string, read?: ReadFile): SweepPlan | undefined {
  const value = readJson(sweepFile(folder), read) as SweepPlan | undefined
  if (!Array.isArray(value?.set)) return undefined
  const { set, strategy, metric, rungs } = value
  const isRung = (one: SweepRung | null) => typeof one?.epochs === 'number' && typeof one.runs === 'number'
  return {
    strategy: String(strategy),
    set: set.map(String),
    metric: typeof metric === 'string' ? metric : undefined,
    rungs: Array.isArray(rungs) ? rungs.filter(isRung) : [],
  }
}
