/** @file static_ps_trainer and static_ps_online_trainer: a server or a worker of a job by the environment of its process; trains alone without one. */
import { Command } from 'commander'
import type { EventSink } from '../base/event/index.ts'
import { setDebugNan, UserError } from '../base/util/index.ts'
import type { TracedModel } from '../model/index.ts'
import { untilDone } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, debugNanOption, modeOption, oneOf } from './options.ts'
import { openOutput } from './output.ts'
import { withResultFile, writeProgramFiles } from './ps-files.ts'
import { trainCommand } from './train.ts'

interface PsTrainerOptions extends ConfigOptions {
  readonly resume?: boolean
  readonly mode: string
  readonly json?: boolean
  readonly debugNan?: boolean
}

const LOCAL_WARNING =
  'Not Find Distributed env, Change To local train mode. If you want train with fleet, please use [fleetrun] command.'

export function psTrainerCommand(io: CliIo): Command {
  const command = new Command('static_ps_trainer').description(
    'Be a server or a worker of a job with parameter servers, as TRAINING_ROLE says; train alone without it.',
  )
  return addConfigOptions(command)
    .addOption(modeOption())
    .option('--resume', 'go on from the newest checkpoint in runner.model_save_path')
    .option('--json', 'print events as JSON lines')
    .addOption(debugNanOption())
    .action((options: PsTrainerOptions) => runPsTrainer(options, io))
}

/** The same day by day: what a config with runner.start_day does anyway. */
export function psOnlineTrainerCommand(io: CliIo): Command {
  const command = new Command('static_ps_online_trainer').description(
    'Train day by day (runner.start_day): as a server or a worker of a job with parameter servers, or alone.',
  )
  return addConfigOptions(command)
    .option('--json', 'print events as JSON lines')
    .addOption(debugNanOption())
    .action(async (options: Omit<PsTrainerOptions, 'mode'>) => {
      const { loadConfig } = await import('../base/config/index.ts')
      const { runner } = loadConfig({ path: options.config_yaml, overrides: options.opt ?? [] }).config
      if (runner.start_day === undefined) throw noDays(options.config_yaml)
      await runPsTrainer({ ...options, mode: 'static' }, io)
    })
}

function noDays(file: string): UserError {
  return new UserError('runner.start_day is missing: static_ps_online_trainer trains day by day.', {
    code: 'ONLINE_DAYS',
    where: { file },
    hint: 'Add start_day: "20190720", or train epochs with tools/static_ps_trainer.py.',
  })
}

async function runPsTrainer(options: PsTrainerOptions, io: CliIo): Promise<void> {
  const { config_yaml, opt = [], json = false } = options
  const mode = oneOf('--mode', (await import('../model/index.ts')).GRAPH_MODES, options.mode)
  const { loadConfig } = await import('../base/config/index.ts')
  const { clusterFromEnv, psFlags, startedAgain } = await import('../base/env/index.ts')
  const resume = options.resume || startedAgain(io.env)
  const cluster = clusterFromEnv(io.env)
  const output = openOutput(io, { json })
  if (cluster.role === 'local') {
    output.emit({ kind: 'warning', message: LOCAL_WARNING })
    const overrides = opt.length > 0 ? ['-o', ...opt] : []
    const flags = [json && '--json', resume && '--resume', options.debugNan && '--debug-nan'].filter(
      (flag) => typeof flag === 'string',
    )
    const args = ['-m', config_yaml, '--mode', mode, ...overrides, ...flags]
    await trainCommand(io).exitOverride().parseAsync(args, { from: 'user' })
    return
  }
  if (options.debugNan) setDebugNan(true)
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const flags = psFlags(io.env)
  const work = async (emit: EventSink, signal: AbortSignal) => {
    if (cluster.role === 'server') {
      const { runServer } = await import('../training/ps/index.ts')
      return await runServer({ cluster, config, mode, ...flags, emit, signal })
    }
    const { trainAsAsked } = await import('../library/index.ts')
    const { printProgram } = await import('../graph/program/index.ts')
    const rules = { onModel: (model: TracedModel) => writeProgramFiles(cluster.rank, model, printProgram) }
    await trainAsAsked({ config, mode, emit: withResultFile(emit), signal, resume, rules }, io.env)
  }
  const { recordRun } = await import('../base/runs/index.ts')
  const recorded = { config, env: io.env, resume, emit: output.emit }
  // A worker is recorded by what trains it: two records of one process would be written into each other.
  const isServer = cluster.role === 'server'
  await untilDone(io, output, (signal) =>
    isServer ? recordRun(recorded, (emit) => work(emit, signal)) : work(output.emit, signal),
  )
}
