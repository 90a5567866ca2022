/** @file Options of commands that train: what the run is called, whether it is recorded, whether a page shows it. */
import { dirname } from 'node:path'
import type { Command } from 'commander'
import type { LoadedConfig } from '../base/config/index.ts'
import type { Env } from '../base/env/index.ts'
import { UserError } from '../base/util/index.ts'

export interface RunOptions {
  readonly name?: string
  /** False with --no-run-dir. */
  readonly runDir?: boolean
  readonly dashboard?: boolean
  readonly metrics_port?: string
}

export function addRunOptions(command: Command): Command {
  return command
    .option('--name <text>', 'what the run is called in its run folder (default: time, model and a few letters)')
    .option('--no-run-dir', 'write no run folder; see runner.run_dir')
    .option('--dashboard', 'show the run on a page while it runs; its address is printed')
    .option('--metrics_port <port>', "Prometheus' metrics there, on this host alone; with an address: 0.0.0.0:9100")
}

/** The environment in which the run, and processes that it starts, are recorded as asked. */
export async function runEnv(options: RunOptions, given: Env): Promise<Env> {
  const { name, runDir = true, metrics_port } = options
  const env = metrics_port === undefined ? given : { ...given, OARFISH_METRICS_PORT: metrics_port }
  if (!runDir) return { ...env, OARFISH_RUN_DIR: '' }
  if (name === undefined) return env
  const { namedRun } = await import('../base/runs/index.ts')
  return { ...env, ...namedRun(name) }
}

/** Where the run is recorded, for a page that is to show it. */
export async function runsFolder({ config }: LoadedConfig, env: Env): Promise<string> {
  const { runIdentity } = await import('../base/runs/index.ts')
  const identity = runIdentity(config, env)
  if (identity) return dirname(identity.folder)
  throw new UserError('--dashboard: this run is not recorded, so there is nothing to show.', {
    code: 'CLI_OPTION',
    hint: 'Leave out --no-run-dir, or name a folder: -o runner.run_dir=runs',
  })
}
