/** @file `oarfish infer`: evaluates the epochs that `oarfish train` saved. */
import { Command } from 'commander'
import { untilDone } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, modeOption, oneOf } from './options.ts'
import { openOutput } from './output.ts'

interface InferCliOptions extends ConfigOptions {
  readonly json?: boolean
  readonly engine: string
  readonly mode: string
}

export function inferCommand(io: CliIo): Command {
  const command = new Command('infer').description(
    'Load the saved epochs from runner.infer_start_epoch to runner.infer_end_epoch (exclusive) and evaluate each on runner.test_data_dir.',
  )
  return addConfigOptions(command)
    .addOption(modeOption())
    .option('--json', 'print events as JSON lines, the last one {"kind":"done",...}')
    .option('--engine <name>', 'what computes: ort or reference (slow and exact)', 'ort')
    .action((options: InferCliOptions) => runInfer(options, io))
}

async function runInfer({ config_yaml, opt = [], json = false, engine, mode: typed }: InferCliOptions, io: CliIo) {
  const { checkDataDirs, loadConfig } = await import('../base/config/index.ts')
  const { clusterFromEnv } = await import('../base/env/index.ts')
  const { evaluateAsAsked } = await import('../library/index.ts')
  const { GRAPH_MODES } = await import('../model/index.ts')
  const { ENGINES } = await import('../training/threads/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  if (clusterFromEnv(io.env).role === 'local') checkDataDirs(config, ['test_data_dir'])
  const engineName = oneOf('--engine', ENGINES, engine)
  const mode = oneOf('--mode', GRAPH_MODES, typed)
  const output = openOutput(io, { json })
  await untilDone(io, output, (signal) =>
    evaluateAsAsked({ config, emit: output.emit, signal, engine: engineName, mode }, io.env),
  )
}
