/** @file `oarfish diff`: whether an export, asked as a client asks, scores raw records as training does. */
import { Command } from 'commander'
import { ExitCode } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface DiffCliOptions extends ConfigOptions {
  readonly model: string
  readonly rows: number
  readonly tolerance: string
}

export function diffCommand(io: CliIo): Command {
  const command = new Command('diff').description(
    'Score the same raw records by the trainer (its reader, features and tables) and by the server (requests to an export); prints the largest difference.',
  )
  return addConfigOptions(command)
    .argument('[file]', 'the records; the first file of the test data unless given')
    .requiredOption('--model <folder>', 'the export')
    .option('--rows <n>', 'how many records', wholeNumber, 1000)
    .option('--tolerance <x>', 'a larger difference ends with exit code 1', '1e-6')
    .action((file: string | undefined, options: DiffCliOptions) => runDiff(file, options, io))
}

async function runDiff(file: string | undefined, options: DiffCliOptions, io: CliIo): Promise<void> {
  const { loadConfig } = await import('../base/config/index.ts')
  const { diff } = await import('../training/driver/index.ts')
  const { config_yaml, opt = [], model, rows, tolerance } = options
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const output = openOutput(io, { json: false })
  const found = await diff({ config, model, file, rows, emit: output.emit }).finally(output.close)
  const { largest, at, trained, served, epoch } = found
  io.out.write(`${found.rows} records of ${found.file}, epoch ${epoch}: largest difference ${largest.toExponential(2)}`)
  io.out.write(largest > 0 ? ` (record ${at}: trainer ${trained}, server ${served})\n` : '\n')
  if (largest > Number(tolerance)) throw new ExitCode(1)
}
