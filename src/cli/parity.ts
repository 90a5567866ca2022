/** @file `oarfish parity`: a ported model beside the weights that Paddle trained. */
import { Command, InvalidArgumentError } from 'commander'
import { ExitCode } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface ParityCliOptions extends ConfigOptions {
  readonly paddle: string
  readonly data?: string
  readonly reference?: string
  readonly paddlerec?: string
  readonly python: string
  readonly batches: number
  readonly training?: boolean
  readonly save?: string
  readonly tolerance: number
}

export function parityCommand(io: CliIo): Command {
  const command = new Command('parity').description(
    "Load Paddle's weights into a model by their names, and compare what both compute (docs/guide/porting.md).",
  )
  return addConfigOptions(command)
    .requiredOption('--paddle <file>', 'the weights: rec.pdparams')
    .option('--data <folder>', 'the batches to compare on; by default runner.train_data_dir')
    .option('--reference <file>', 'what Paddle computed for the first batches, as JSON: losses, predictions')
    .option('--paddlerec <folder>', "let a real Paddle compute it, from PaddleRec's folder of the model")
    .option('--python <program>', 'the Python that has Paddle', 'python3')
    .option('--batches <n>', 'so many batches, with --paddlerec', wholeNumber, 3)
    .option('--training', 'weights learn after each batch, with --paddlerec')
    .option('--save <folder>', "write a checkpoint with Paddle's weights, for runner.model_init_path")
    .option('--tolerance <x>', 'how far numbers may lie apart', positive, 1e-4)
    .action((options: ParityCliOptions) => runParity(options, io))
}

function positive(typed: string): number {
  const value = Number(typed)
  if (!(value > 0)) throw new InvalidArgumentError('Expected a number above 0.')
  return value
}

async function runParity(options: ParityCliOptions, io: CliIo): Promise<void> {
  const { config_yaml, opt = [], paddle, data, paddlerec, python, batches, training = false, save, tolerance } = options
  const { loadConfig } = await import('../base/config/index.ts')
  const { parity, parityReport, runPaddle } = await import('../paddle/parity/index.ts')
  const overrides = data === undefined ? opt : [...opt, `runner.train_data_dir=${data}`]
  const config = loadConfig({ path: config_yaml, overrides })
  const output = openOutput(io, { json: false })
  try {
    const computed =
      paddlerec === undefined
        ? undefined
        : await runPaddle({ config, folder: paddlerec, paddle, batches, training, python })
    const reference = options.reference ?? computed
    const result = await parity({ config, paddle, reference, save, tolerance, emit: output.emit })
    io.out.write(parityReport(result, tolerance))
    if (!result.agrees) throw new ExitCode(1)
  } finally {
    output.close()
  }
}
