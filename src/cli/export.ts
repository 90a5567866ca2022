/** @file `oarfish export`: a saved epoch as a folder that other programs can score with. */
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, oneOf, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface ExportCliOptions extends ConfigOptions {
  readonly out: string
  readonly epoch?: number
  readonly fold?: boolean
  readonly vectors?: string
  readonly from?: string
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
      'which epoch of runner.model_save_path; unless given the best of training with keep_best or early_stop, else the last',
      wholeNumber,
    )
    .option('--fold', 'also write folded.onnx, which holds the tables and takes ids as they are; for small tables')
    .option(
      '--vectors <kind>',
      'item or user: write their vectors instead, ids.npy and vectors.npy, of a model for recall',
    )
    .option(
      '--from <file>',
      'with --vectors: whose; unless given all items of the table, or the users of test_data_dir',
    )
    .option('--json', 'print events as JSON lines')
    .action((options: ExportCliOptions) => runExport(options, io))
}

async function runExport(typed: ExportCliOptions, io: CliIo): Promise<void> {
  const { config_yaml, opt = [], json = false, vectors, from, ...options } = typed
  const kind = vectors === undefined ? undefined : oneOf('--vectors', ['item', 'user'], vectors)
  refuseTogether(typed)
  const { loadConfig } = await import('../base/config/index.ts')
  const { exportCheckpoint, exportVectors } = await import('../training/driver/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const output = openOutput(io, { json })
  try {
    if (kind === undefined) await exportCheckpoint({ config, ...options, emit: output.emit })
    else await exportVectors({ config, ...options, kind, from, emit: output.emit })
  } finally {
    output.close()
  }
}

function refuseTogether({ fold, vectors, from }: ExportCliOptions): void {
  if (vectors === undefined ? from === undefined : !fold) return
  const message = vectors === undefined ? '--from says whose vectors to write' : '--fold is of a whole model'
  const hint = vectors === undefined ? 'add --vectors item or --vectors user' : 'leave out --fold or --vectors'
  throw new UserError(message, { code: 'CLI_OPTION', hint })
}
