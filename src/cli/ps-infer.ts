/** @file static_ps_infer and static_ps_offline_infer: saved models evaluated by a server or a worker of a job, or alone. */
import { Command } from 'commander'
import type { Role } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions } from './options.ts'
import { openOutput } from './output.ts'

interface PsInferOptions extends ConfigOptions {
  readonly json?: boolean
}

export function psInferCommand(io: CliIo): Command {
  return inferCommand(io, {
    name: 'static_ps_infer',
    description:
      'Evaluate the saved epochs from runner.infer_start_epoch to runner.infer_end_epoch on parameter servers, as TRAINING_ROLE says; alone without it.',
    offline: false,
  })
}

export function psOfflineInferCommand(io: CliIo): Command {
  return inferCommand(io, {
    name: 'static_ps_offline_infer',
    description:
      'Evaluate runner.init_model_path over runner.data_dir on parameter servers, as TRAINING_ROLE says; alone without it.',
    offline: true,
  })
}

interface Kind {
  readonly name: string
  readonly description: string
  readonly offline: boolean
}

function inferCommand(io: CliIo, { name, description, offline }: Kind): Command {
  return addConfigOptions(new Command(name).description(description))
    .option('--json', 'print events as JSON lines')
    .action((options: PsInferOptions) => runPsInfer(options, offline, io))
}

async function runPsInfer({ config_yaml, opt = [], json = false }: PsInferOptions, offline: boolean, io: CliIo) {
  const { loadConfig } = await import('../config/index.ts')
  const { clusterFromEnv, psFlags } = await import('../env/index.ts')
  const { infer, inferWorker, offlineInfer } = await import('../train/index.ts')
  const cluster = clusterFromEnv(io.env)
  const loaded = loadConfig({ path: config_yaml, overrides: opt })
  const what = offline ? offlineInfer(loaded) : { config: loaded }
  const output = openOutput(io, { json })
  const message = 'Stopping after the step under way; Ctrl+C again leaves at once.'
  const hooks = { onStopping: () => output.emit({ kind: 'notice', message }), onLeaving: output.close }
  const { runServer } = await import('../ps/index.ts')
  const flags = psFlags(io.env)
  const works: { readonly [R in Role]: (options: { emit: EventSink; signal: AbortSignal }) => Promise<unknown> } = {
    local: (options) => infer({ ...what, ...options }),
    worker: (options) => inferWorker({ cluster, ...what, ...flags, ...options }),
    server: (options) => runServer({ cluster, config: what.config, rowsOnly: false, ...flags, ...options }),
  }
  try {
    await untilInterrupted(io, hooks, (signal) => works[cluster.role]({ emit: output.emit, signal }))
  } finally {
    output.close()
  }
}
