/** @file `oarfish train`: trains as a config says and evaluates after each epoch. */
import { Command } from 'commander'
import { trainHere } from './among-ranks.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, oneOf } from './options.ts'
import { openOutput } from './output.ts'

interface TrainCliOptions extends ConfigOptions {
  readonly json?: boolean
  readonly digest?: boolean
  readonly resume?: boolean
  readonly engine: string
  readonly mode: string
}

export function trainCommand(io: CliIo): Command {
  const command = new Command('train').description(
    'Train a model; save it to runner.model_save_path and evaluate it on runner.test_data_dir after each epoch.',
  )
  return addConfigOptions(command)
    .option(
      '--mode <name>',
      'static (static_model.ts, one graph) or dygraph (dygraph_model.ts, a graph a batch)',
      'static',
    )
    .option('--json', 'print events as JSON lines, the last one {"kind":"done",...}')
    .option('--resume', 'go on from the newest checkpoint in runner.model_save_path, also from inside an epoch')
    .option('--digest', 'end with a SHA-256 over weights, optimizer state and rows: equal for equal runs of one thread')
    .option(
      '--engine <name>',
      'what computes: ort, reference (slow and exact) or null (nothing: times the input)',
      'ort',
    )
    .action((options: TrainCliOptions) => runTrain(options, io))
}

async function runTrain(options: TrainCliOptions, io: CliIo) {
  const { config_yaml, opt = [], json = false, digest = false, resume = false, engine, mode: typed } = options
  const { checkDataDirs, loadConfig } = await import('../config/index.ts')
  const { GRAPH_MODES } = await import('../model/index.ts')
  const { ENGINES } = await import('../train/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  checkDataDirs(config)
  const engineName = oneOf('--engine', ENGINES, engine)
  const mode = oneOf('--mode', GRAPH_MODES, typed)
  const output = openOutput(io, { json })
  const saving = config.config.runner.model_save_path === '' ? '' : ' and saving'
  const message = `Stopping after the step under way${saving}; Ctrl+C again leaves at once.`
  const hooks = { onStopping: () => output.emit({ kind: 'notice', message }), onLeaving: output.close }
  try {
    await untilInterrupted(io, hooks, (signal) =>
      trainHere(
        {
          config,
          emit: output.emit,
          signal,
          resume: resume || io.env['OARFISH_RESUME'] === '1',
          digest,
          engine: engineName,
          mode,
        },
        io,
      ),
    )
  } finally {
    output.close()
  }
}
