/** @file What each slot is worth, kept with the run that trained the model. */
import { dirname, join } from 'node:path'
import type { JobConfig } from '../config/index.ts'
import type { Env } from '../env/index.ts'
import { findRuns } from './find-runs.ts'
import type { ReadFile } from './read-plain.ts'
import { runIdentity } from './run-name.ts'
import { readRun } from './run-summary.ts'
import { readJson, replaceFile } from './status-file.ts'

/** The same as the command prints; its slots are the most important first. */
export interface SlotsImportance {
  readonly epoch: number
  readonly samples: number
  readonly metric: string
  readonly auc: number
  readonly slots: readonly { readonly slot: string; readonly lost: number; readonly spread: number }[]
}

const fileOf = (folder: string) => join(folder, 'importance.json')

/** Kept with the newest run that saved where the config says; its name, or undefined where there is none. */
export function noteImportance(config: JobConfig, env: Env, found: SlotsImportance): string | undefined {
  const identity = runIdentity(config, env)
  if (!identity) return undefined
  const path = config.runner.model_save_path
  const [newest] = findRuns([dirname(identity.folder)])
    .flatMap((folder) => readRun(folder) ?? [])
    .filter(({ meta }) => meta.settings['runner.model_save_path'] === path)
    .sort((a, b) => b.meta.createdAt - a.meta.createdAt)
  if (!newest) return undefined
  replaceFile(fileOf(newest.folder), `${JSON.stringify(found)}\n`)
  return newest.meta.name
}

export function readImportance(folder: string, read?: ReadFile): SlotsImportance | undefined {
  const value = readJson(fileOf(folder), read) as SlotsImportance | undefined
  return Array.isArray(value?.slots) ? value : undefined
}
