/** @file `oarfish predict`: scores text with an exported model, one score a line. */
import { Command } from 'commander'
import type { Scored } from '../inference/export/index.ts'
import type { CliIo } from './io.ts'
import { deviceOption, oneOf } from './options.ts'

interface PredictCliOptions {
  readonly model: string
  readonly format: string
  readonly json?: boolean
  readonly device: string
  readonly config_yaml?: string
  readonly opt?: readonly string[]
}

export function predictCommand(io: CliIo): Command {
  return new Command('predict')
    .description(
      'Score slot or MultiSlot text with an exported model; prints one score a line, in the order of the lines.',
    )
    .argument('<file>', 'a file, plain or .gz, a folder of such, or - for standard input')
    .requiredOption('--model <folder>', 'an export, or a folder that holds exports by epoch: the last one is taken')
    .option('--format <form>', 'auto, slot or multislot', 'auto')
    .addOption(deviceOption())
    .option('-m, --config_yaml <file>', 'read the file as this config does: its reader.ts, its columns')
    .option('-o, --opt <key=value...>', 'change keys of that configuration')
    .option('--json', 'print {"score":...,"outputs":{...}} for each line')
    .action((file: string, options: PredictCliOptions) => runPredict(file, options, io))
}

async function runPredict(file: string, options: PredictCliOptions, io: CliIo): Promise<void> {
  const { model, format, json = false } = options
  const { DEVICE_NAMES } = await import('../base/device/index.ts')
  const device = oneOf('--device', DEVICE_NAMES, options.device)
  const reader = options.config_yaml === undefined ? undefined : await readerOf(options.config_yaml, options.opt, file)
  const { outputRows, PREDICT_FORMATS, predict, shortNumber } = await import('../inference/export/index.ts')
  const known = oneOf('--format', PREDICT_FORMATS, format)
  const onNotice = (message: string) => io.err.write(`${message}\n`)
  const scoreLines = ({ scores }: Scored) => Array.from(scores, (score) => `${shortNumber(score)}\n`)
  const jsonLines = (scored: Scored) => {
    const rows = outputRows(scored, 0, scored.samples)
    return Array.from(scored.scores, (score, i) => {
      const outputs = Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, values[i]]))
      return `${JSON.stringify({ score: shortNumber(score), outputs })}\n`
    })
  }
  const input = file === '-' ? io.input() : file
  for await (const scored of predict({ model, input, format: known, device, reader, onNotice }))
    io.out.write((json ? jsonLines(scored) : scoreLines(scored)).join(''))
}

/** How a config reads this file; data of an evaluation. */
export async function readerOf(path: string, overrides: readonly string[] = [], file = '') {
  const { loadConfig } = await import('../base/config/index.ts')
  const { inputOf } = await import('../training/threads/index.ts')
  const { config } = loadConfig({ path, overrides })
  return inputOf(config, 'infer', [file]).reader
}
