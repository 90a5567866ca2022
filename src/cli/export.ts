/** @file `oarfish export`: a saved epoch as a folder that other programs can score with. */
import { Command } from 'commander'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface ExportCliOptions extends ConfigOptions {
  readonly out: string
  readonly epoch?: number
  readonly fold?: boolean
  readonly json?: boolean
}

export function exportCommand(io: CliIo): Command {
  const command = new Command('export').description(
    'Write a saved epoch for inference: ONNX, tables, samples with their scores (docs/reference/export-format.md).',
  )
  return addConfigOptions(command)
    .requiredOption('--out <folder>', 'the folder to write; an export that is there is replaced once all is written')
    .option(
      '--epoch <n>',
      'which epoch of runner.model_save_path; unless given the best of runner.keep_best, else the last',
      wholeNumber,
    )
    .option('--fold', 'also write folded.onnx, which holds the tables and takes ids as they are; for small tables')
    .option('--json', 'print events as JSON lines')
    .action((options: ExportCliOptions) => runExport(options, io))
}

async function runExport({ config_yaml, opt = [], json = false, ...options }: ExportCliOptions, io: CliIo) {
  const { loadConfig } = await import('../base/config/index.ts')
  const { exportCheckpoint } = await import('../training/driver/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const output = openOutput(io, { json })
  try {
    await exportCheckpoint({ config, ...options, emit: output.emit })
  } finally {
    output.close()
  }
}
