/** @file static_gpubox_trainer: the GPU parameter server, with PaddleRec's arguments; its side files go to the log folder. */
import { Command } from 'commander'
import { setDebugNan, UserError } from '../base/util/index.ts'
import type { TracedModel } from '../model/index.ts'
import { untilDone } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, debugNanOption } from './options.ts'
import { openOutput } from './output.ts'
import { withResultFile, writeProgramFiles } from './ps-files.ts'

interface GpuboxOptions extends ConfigOptions {
  readonly resume?: boolean
  readonly json?: boolean
  readonly digest?: boolean
  readonly debugNan?: boolean
}

export function gpuboxTrainerCommand(io: CliIo): Command {
  const command = new Command('static_gpubox_trainer').description(
    'Train as a GPU parameter server (runner.sync_mode: gpubox), pass by pass; with TRAINING_ROLE=PSERVER hold the port of the job.',
  )
  return addConfigOptions(command)
    .option('--resume', 'go on from the newest checkpoint in runner.model_save_path, also from inside an epoch')
    .option('--digest', 'end with a SHA-256 over weights, optimizer state and rows')
    .option('--json', 'print events as JSON lines')
    .addOption(debugNanOption())
    .option('--profiler_options <text>', "of Paddle's profiler: accepted, without effect")
    .action((options: GpuboxOptions) => runGpuboxTrainer(options, io))
}

async function runGpuboxTrainer(options: GpuboxOptions, io: CliIo): Promise<void> {
  const { config_yaml, opt = [], json = false, resume = false, digest = false } = options
  const { loadConfig } = await import('../base/config/index.ts')
  if (options.debugNan) setDebugNan(true)
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const { sync_mode } = config.config.runner
  if (sync_mode !== 'gpubox') throw otherMode(sync_mode)
  const { trainAsAsked } = await import('../library/index.ts')
  const { printProgram } = await import('../graph/program/index.ts')
  const output = openOutput(io, { json })
  const emit = withResultFile(output.emit)
  const onModel = (model: TracedModel) => writeProgramFiles(0, model, printProgram)
  const work = (signal: AbortSignal) =>
    trainAsAsked({ config, emit, signal, resume, digest, rules: { onModel } }, io.env)
  await untilDone(io, output, work)
}

function otherMode(mode: string): UserError {
  return new UserError(`static_gpubox_trainer trains with runner.sync_mode: gpubox, and the config says ${mode}.`, {
    code: 'GPUPS_MODE',
    hint: 'Add -o runner.sync_mode=gpubox runner.reader_type=InmemoryDataset, or take tools/static_ps_trainer.py.',
  })
}
