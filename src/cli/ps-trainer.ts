/** @file static_ps_trainer: a server or a worker of a job by the environment of its process; trains alone without one. */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import type { Cluster, LoadedConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions } from './options.ts'
import { openOutput } from './output.ts'
import { trainCommand } from './train.ts'

interface PsTrainerOptions extends ConfigOptions {
  readonly json?: boolean
}

const LOCAL_WARNING =
  'Not Find Distributed env, Change To local train mode. If you want train with fleet, please use [fleetrun] command.'

export function psTrainerCommand(io: CliIo): Command {
  const command = new Command('static_ps_trainer').description(
    'Be a server or a worker of a job with parameter servers, as TRAINING_ROLE says; train alone without it.',
  )
  return addConfigOptions(command)
    .option('--json', 'print events as JSON lines')
    .action((options: PsTrainerOptions) => runPsTrainer(options, io))
}

async function runPsTrainer({ config_yaml, opt = [], json = false }: PsTrainerOptions, io: CliIo): Promise<void> {
  const { clusterFromEnv, loadConfig } = await import('../config/index.ts')
  const cluster = clusterFromEnv(io.env)
  const output = openOutput(io, { json })
  if (cluster.role === 'local') {
    output.emit({ kind: 'warning', message: LOCAL_WARNING })
    const overrides = opt.length > 0 ? ['-o', ...opt] : []
    const args = ['-m', config_yaml, ...overrides, ...(json ? ['--json'] : [])]
    await trainCommand(io).exitOverride().parseAsync(args, { from: 'user' })
    return
  }
  const { runServer, trainWorker } = await loadPs()
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const message = 'Stopping after the step under way; Ctrl+C again leaves at once.'
  const hooks = { onStopping: () => output.emit({ kind: 'notice', message }), onLeaving: output.close }
  const work = cluster.role === 'server' ? runServer : trainWorker
  try {
    await untilInterrupted(io, hooks, (signal) => work({ cluster, config, emit: output.emit, signal }))
  } finally {
    output.close()
  }
}

type Work = (options: {
  readonly cluster: Cluster
  readonly config: LoadedConfig
  readonly emit: EventSink
  readonly signal: AbortSignal
}) => Promise<unknown>

/** The two halves of a job, as far as this build has them. */
async function loadPs(): Promise<{ readonly runServer: Work; readonly trainWorker: Work }> {
  const { runServer } = await optional<{ runServer?: Work }>('../ps/index.js')
  const { trainWorker } = await optional<{ trainWorker?: Work }>('../train/index.js')
  if (runServer && trainWorker) return { runServer, trainWorker }
  throw new UserError('Training with parameter servers is not in this build.', {
    code: 'TOOL_NOT_IN_BUILD',
    hint: 'Run oarfish train, which trains in one process.',
  })
}

async function optional<T extends object>(path: string): Promise<Partial<T>> {
  const url = new URL(path, import.meta.url)
  return existsSync(url) ? await import(url.href) : {}
}
