/** @file `oarfish convert`: Paddle's table files, checkpoints and exports, one into the other. */
import { Command, Option } from 'commander'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface ConvertCliOptions extends ConfigOptions {
  readonly from: string
  readonly to: string
  readonly as: 'paddle' | 'checkpoint' | 'export'
  readonly mode?: string
  readonly servers?: number
  readonly plain?: boolean
  readonly json?: boolean
}

const SAVE_MODES = ['0', '1', '2', '3']

export function convertCommand(io: CliIo): Command {
  const command = new Command('convert').description(
    "Turn Paddle's table files into a checkpoint or an export, or a checkpoint into Paddle's files (docs/reference/paddle-files.md).",
  )
  return addConfigOptions(command)
    .requiredOption('--from <folder>', "a checkpoint, or a folder that Paddle's servers saved")
    .requiredOption('--to <folder>', 'the folder to write')
    .addOption(
      new Option('--as <form>', 'what to write').choices(['paddle', 'checkpoint', 'export']).makeOptionMandatory(),
    )
    .addOption(
      new Option('--mode <n>', "rows in Paddle's files: 0 all, 1 delta, 2 base, 3 batch model").choices(SAVE_MODES),
    )
    .option('--servers <n>', "name Paddle's files as so many servers would", wholeNumber)
    .option('--plain', "do not compress Paddle's files")
    .option('--json', 'print events as JSON lines')
    .action((options: ConvertCliOptions) => runConvert(options, io))
}

async function runConvert({ config_yaml, opt = [], json = false, mode, ...options }: ConvertCliOptions, io: CliIo) {
  const { loadConfig } = await import('../base/config/index.ts')
  const { convertModel } = await import('../training/driver/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const output = openOutput(io, { json })
  try {
    const rows = mode === undefined ? undefined : (Number(mode) as 0 | 1 | 2 | 3)
    await convertModel({ config, ...options, mode: rows, emit: output.emit })
  } finally {
    output.close()
  }
}
