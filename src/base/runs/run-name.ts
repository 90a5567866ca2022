/** @file Which run a process belongs to, where its folder lies, and which process of it this is: by config and environment. Pure but for the clock. */
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { JobConfig } from '../config/index.ts'
import { clusterFromEnv, type Env } from '../env/index.ts'
import { UserError } from '../util/index.ts'
import type { RunRole } from './run-paths.ts'

export interface RunIdentity {
  readonly folder: string
  readonly role: RunRole
  readonly rank: number
}

/** `20261117-183012-dnn-3fa9`. */
export function runName(model: string, now = new Date()): string {
  const digits = now.toISOString().replaceAll(/[-:]/g, '').replace('T', '-').slice(0, 15)
  const word = model.replaceAll(/[^\w.-]+/g, '_').replace(/^[._-]+/, '') || 'run'
  return `${digits}-${word.slice(0, 40)}-${randomBytes(2).toString('hex')}`
}

/** One folder name: no separators, nothing hidden. */
export const isRunName = (name: string) => /^[^/\\\0]{1,120}$/.test(name) && !name.startsWith('.')

/** The environment of processes that are one run of this name. */
export function namedRun(name: string): Env {
  if (!isRunName(name))
    throw new UserError(`--name: ${JSON.stringify(name)} cannot be the name of a folder.`, {
      code: 'RUN_NAME',
      hint: 'Leave out / and \\, and a dot at the beginning; 120 characters at most.',
    })
  return { OARFISH_RUN_NAME: name }
}

/**
 * Undefined: nothing is recorded. OARFISH_RUN_DIR stands above runner.run_dir, and an empty one is none; without either runs lie beside
 * runner.model_save_path, so that who keeps nothing finds nothing.
 */
export function runIdentity({ runner, dir }: JobConfig, env: Env, part = partOf(env)): RunIdentity | undefined {
  const base = env['OARFISH_RUN_DIR'] ?? runner.run_dir ?? besideModels(runner.model_save_path)
  if (!base) return undefined
  const { role, rank, jobId } = part
  const shared = env['OARFISH_RUN_NAME'] || jobId
  // Of ranks that have no name in common the first one records.
  if (!shared && rank > 0) return undefined
  return { folder: join(base, shared || runName(basename(dir))), role, rank }
}

const besideModels = (path: string) => (path === '' || /^\w+:\/\//.test(path) ? undefined : join(dirname(path), 'runs'))

const RANKS = ['PADDLE_TRAINER_ID', 'OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'PMIX_RANK', 'SLURM_PROCID'] as const
const SIZES = ['PADDLE_TRAINERS_NUM', 'OMPI_COMM_WORLD_SIZE', 'PMI_SIZE', 'SLURM_NTASKS'] as const

/** Which process of which job this is. */
export interface RunPart {
  readonly role: RunRole
  readonly rank: number
  readonly jobId: string | undefined
}

export function partOf(env: Env): RunPart {
  const cluster = clusterFromEnv(env)
  const named = env['OARFISH_JOB_ID']
  if (cluster.role !== 'local') return { ...cluster, jobId: named ?? `job-${cluster.jobId}` }
  const number = (names: readonly string[]) => Number(names.map((name) => env[name]).find(Boolean) ?? 0)
  if (number(SIZES) <= 1) return { role: 'local', rank: 0, jobId: undefined }
  return { role: 'rank', rank: number(RANKS), jobId: named }
}
