/** @file `oarfish infer`: evaluates the epochs that `oarfish train` saved. */
import { Command } from 'commander'
import { inferHere } from './among-ranks.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, oneOf } from './options.ts'
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
    .option(
      '--mode <name>',
      'static (static_model.ts, one graph) or dygraph (dygraph_model.ts, a graph a batch)',
      'static',
    )
    .option('--json', 'print events as JSON lines, the last one {"kind":"done",...}')
    .option('--engine <name>', 'what computes: ort or reference (slow and exact)', 'ort')
    .action((options: InferCliOptions) => runInfer(options, io))
}

async function runInfer({ config_yaml, opt = [], json = false, engine, mode: typed }: InferCliOptions, io: CliIo) {
  const { checkDataDirs, loadConfig } = await import('../config/index.ts')
  const { GRAPH_MODES } = await import('../model/index.ts')
  const { ENGINES } = await import('../train/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  checkDataDirs(config, ['test_data_dir'])
  const engineName = oneOf('--engine', ENGINES, engine)
  const mode = oneOf('--mode', GRAPH_MODES, typed)
  const output = openOutput(io, { json })
  const message = 'Stopping after the step under way; Ctrl+C again leaves at once.'
  const hooks = { onStopping: () => output.emit({ kind: 'notice', message }), onLeaving: output.close }
  try {
    await untilInterrupted(io, hooks, (signal) =>
      inferHere({ config, emit: output.emit, signal, engine: engineName, mode }, io),
    )
  } finally {
    output.close()
  }
}
