/** @file `oarfish train`: trains as a config says and evaluates after each epoch. */
import { Command } from 'commander'
import { setDebugNan } from '../base/util/index.ts'
import { besidePage } from './dashboard.ts'
import { untilDone } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, debugNanOption, engineOption, modeOption, oneOf } from './options.ts'
import { openOutput } from './output.ts'
import { addRunOptions, type RunOptions, runEnv, runsFolder } from './run-options.ts'

interface TrainCliOptions extends ConfigOptions, RunOptions {
  readonly json?: boolean
  readonly digest?: boolean
  readonly resume?: boolean
  readonly debugNan?: boolean
  readonly engine: string
  readonly mode: string
}

export function trainCommand(io: CliIo): Command {
  const command = new Command('train').description(
    'Train a model; save it to runner.model_save_path and evaluate it on runner.test_data_dir after each epoch.',
  )
  return addRunOptions(addConfigOptions(command))
    .addOption(modeOption())
    .option('--json', 'print events as JSON lines, the last one {"kind":"done",...}')
    .option('--resume', 'go on from the newest checkpoint in runner.model_save_path, also from inside an epoch')
    .option('--digest', 'end with a SHA-256 over weights, optimizer state and rows: equal for equal runs of one thread')
    .addOption(debugNanOption())
    .addOption(engineOption())
    .action((options: TrainCliOptions) => runTrain(options, io))
}

async function runTrain(options: TrainCliOptions, io: CliIo) {
  const { config_yaml, opt = [], json = false, digest = false, resume = false, engine, mode: typed } = options
  const { checkDataDirs, loadConfig } = await import('../base/config/index.ts')
  const { clusterFromEnv, startedAgain } = await import('../base/env/index.ts')
  const { trainAsAsked } = await import('../library/index.ts')
  const { GRAPH_MODES } = await import('../model/index.ts')
  const { ENGINES } = await import('../training/threads/index.ts')
  if (options.debugNan) setDebugNan(true)
  const config = loadConfig({ path: config_yaml, overrides: opt })
  // Of a job with servers, workers look for the data that they read.
  if (clusterFromEnv(io.env).role === 'local') checkDataDirs(config)
  const engineName = oneOf('--engine', ENGINES, engine)
  const mode = oneOf('--mode', GRAPH_MODES, typed)
  const output = openOutput(io, { json })
  const saving = config.config.runner.model_save_path === '' ? '' : ' and saving'
  const stopping = `Stopping after the step under way${saving}; Ctrl+C again leaves at once.`
  const shared = { config, emit: output.emit, digest, engine: engineName, mode }
  const env = await runEnv(options, io.env)
  const resumes = resume || startedAgain(io.env)
  const work = (signal: AbortSignal) => trainAsAsked({ ...shared, signal, resume: resumes }, env)
  const page = options.dashboard ? await runsFolder(config, env) : undefined
  await besidePage(page, output.emit, () => untilDone(io, output, work, stopping))
}
