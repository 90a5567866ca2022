/** @file `oarfish diff`: whether an export, asked as a client asks, scores raw records as training does. */
import { Command, InvalidArgumentError } from 'commander'
import { ExitCode } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface DiffCliOptions extends ConfigOptions {
  readonly model: string
  readonly rows: number
  readonly tolerance: number
}

export function diffCommand(io: CliIo): Command {
  const command = new Command('diff').description(
    'Score the same raw records by the trainer (its reader, features and tables) and by the server (requests to an export); prints the largest difference.',
  )
  return addConfigOptions(command)
    .argument('[file]', 'the records, or a folder of which the first file is taken; the test data unless given')
    .requiredOption('--model <folder>', 'the export')
    .option('--rows <n>', 'how many records', atLeastOne, 1000)
    .option('--tolerance <x>', 'a larger difference ends with exit code 1', tolerance, 1e-6)
    .action((file: string | undefined, options: DiffCliOptions) => runDiff(file, options, io))
}

function atLeastOne(typed: string): number {
  const rows = wholeNumber(typed)
  if (rows === 0) throw new InvalidArgumentError('Expected 1 or more.')
  return rows
}

/** One that is no number would let every difference pass. */
function tolerance(typed: string): number {
  const value = Number(typed)
  if (typed.trim() === '' || !(value >= 0)) throw new InvalidArgumentError('Expected a number from 0, such as 1e-6.')
  return value
}

async function runDiff(file: string | undefined, options: DiffCliOptions, io: CliIo): Promise<void> {
  const { loadConfig } = await import('../base/config/index.ts')
  const { diff } = await import('../training/driver/index.ts')
  const { shortNumber } = await import('../inference/export/index.ts')
  const { config_yaml, opt = [], model, rows, tolerance } = options
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const output = openOutput(io, { json: false })
  const found = await diff({ config, model, file, rows, emit: output.emit }).finally(output.close)
  const { largest, at, trained, served, epoch } = found
  io.out.write(`${found.rows} records of ${found.file}, epoch ${epoch}: largest difference ${largest.toExponential(2)}`)
  io.out.write(largest > 0 ? ` (record ${at}: trainer ${shortNumber(trained)}, server ${shortNumber(served)})\n` : '\n')
  if (largest > tolerance) throw new ExitCode(1)
}
