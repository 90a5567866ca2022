/** @file static_ps_trainer: a server or a worker of a job by the environment of its process; trains alone without one. */
import { Command } from 'commander'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, oneOf } from './options.ts'
import { openOutput } from './output.ts'
import { withResultFile } from './result-file.ts'
import { trainCommand } from './train.ts'

interface PsTrainerOptions extends ConfigOptions {
  readonly resume?: boolean
  readonly mode: string
  readonly json?: boolean
}

const LOCAL_WARNING =
  'Not Find Distributed env, Change To local train mode. If you want train with fleet, please use [fleetrun] command.'

export function psTrainerCommand(io: CliIo): Command {
  const command = new Command('static_ps_trainer').description(
    'Be a server or a worker of a job with parameter servers, as TRAINING_ROLE says; train alone without it.',
  )
  return addConfigOptions(command)
    .option(
      '--mode <name>',
      'static (static_model.ts, one graph) or dygraph (dygraph_model.ts, a graph a batch)',
      'static',
    )
    .option('--resume', 'go on from the newest checkpoint in runner.model_save_path')
    .option('--json', 'print events as JSON lines')
    .action((options: PsTrainerOptions) => runPsTrainer(options, io))
}

async function runPsTrainer(options: PsTrainerOptions, io: CliIo): Promise<void> {
  const { config_yaml, opt = [], json = false, resume = false } = options
  const mode = oneOf('--mode', (await import('../model/index.ts')).GRAPH_MODES, options.mode)
  const { loadConfig } = await import('../config/index.ts')
  const { clusterFromEnv, psFlags } = await import('../env/index.ts')
  const cluster = clusterFromEnv(io.env)
  const output = openOutput(io, { json })
  if (cluster.role === 'local') {
    output.emit({ kind: 'warning', message: LOCAL_WARNING })
    const overrides = opt.length > 0 ? ['-o', ...opt] : []
    const args = [
      '-m',
      config_yaml,
      '--mode',
      mode,
      ...overrides,
      ...(json ? ['--json'] : []),
      ...(resume ? ['--resume'] : []),
    ]
    await trainCommand(io).exitOverride().parseAsync(args, { from: 'user' })
    return
  }
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const message = 'Stopping after the step under way; Ctrl+C again leaves at once.'
  const hooks = { onStopping: () => output.emit({ kind: 'notice', message }), onLeaving: output.close }
  const shared = { cluster, config, mode, ...psFlags(io.env) }
  const work = async (signal: AbortSignal) => {
    if (cluster.role === 'server')
      return await (await import('../ps/index.ts')).runServer({ ...shared, emit: output.emit, signal })
    const emit = withResultFile(output.emit)
    const { trainWorker, writeProgramFiles } = await import('../train/index.ts')
    const onModel = (model: Parameters<typeof writeProgramFiles>[1]) => writeProgramFiles(cluster.rank, model)
    await trainWorker({ ...shared, emit, signal, resume, onModel })
  }
  try {
    await untilInterrupted(io, hooks, work)
  } finally {
    output.close()
  }
}
