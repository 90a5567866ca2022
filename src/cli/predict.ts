/** @file `oarfish predict`: scores text with an exported model, one score a line. */
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import type { Scored } from '../inference/export/index.ts'
import type { Found, RecallOptions } from '../inference/recall/index.ts'
import type { CliIo } from './io.ts'
import { deviceOption, oneOf, wholeNumber } from './options.ts'

interface PredictCliOptions {
  readonly model?: string
  readonly index?: string
  readonly k: number
  readonly exclude?: string
  readonly items?: boolean
  readonly format: string
  readonly json?: boolean
  readonly device: string
  readonly config_yaml?: string
  readonly opt?: readonly string[]
}

export function predictCommand(io: CliIo): Command {
  return new Command('predict')
    .description(
      'Score slot or MultiSlot text with an exported model, or find items with an index; prints one line for each, in their order.',
    )
    .argument('<file>', 'a file, plain or .gz, a folder of such, or - for standard input')
    .option('--model <folder>', 'an export, or a folder that holds exports by epoch: the last one is taken')
    .option(
      '--index <folder>',
      'find the nearest items of users instead: what `oarfish index` wrote; prints id:score ...',
    )
    .option('--k <n>', 'with --index: how many items a line', wholeNumber, 50)
    .option(
      '--exclude <slot>',
      'with --index: leave out items of this slot of the user; seen: of all slots that hold items',
    )
    .option('--items', 'with --index: the lines are ids of items, and items like them are found')
    .option('--format <form>', 'auto, slot or multislot', 'auto')
    .addOption(deviceOption())
    .option('-m, --config_yaml <file>', 'read the file as this config does: its reader.ts, its columns')
    .option('-o, --opt <key=value...>', 'change keys of that configuration')
    .option('--json', 'print {"score":...,"outputs":{...}} for each line')
    .action((file: string, options: PredictCliOptions) => runPredict(file, options, io))
}

async function runPredict(file: string, options: PredictCliOptions, io: CliIo): Promise<void> {
  const { model, index, format, json = false } = options
  if ((model === undefined) === (index === undefined)) throw eitherOne()
  const { DEVICE_NAMES } = await import('../base/device/index.ts')
  const device = oneOf('--device', DEVICE_NAMES, options.device)
  const reader = options.config_yaml === undefined ? undefined : await readerOf(options.config_yaml, options.opt, file)
  const { outputRows, PREDICT_FORMATS, predict, shortNumber } = await import('../inference/export/index.ts')
  const known = oneOf('--format', PREDICT_FORMATS, format)
  const onNotice = (message: string) => io.err.write(`${message}\n`)
  const input = file === '-' ? io.input() : file
  const text = { input, format: known, reader, onNotice }
  if (index !== undefined) return await printFound({ ...options, index, ...text }, io)
  const scoreLines = ({ scores }: Scored) => Array.from(scores, (score) => `${shortNumber(score)}\n`)
  const jsonLines = (scored: Scored) => {
    const rows = outputRows(scored, 0, scored.samples)
    return Array.from(scored.scores, (score, i) => {
      const outputs = Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, values[i]]))
      return `${JSON.stringify({ score: shortNumber(score), outputs })}\n`
    })
  }
  for await (const scored of predict({ model: model!, device, ...text }))
    io.out.write((json ? jsonLines(scored) : scoreLines(scored)).join(''))
}

/** The items of each line: `id:score id:score`, or as JSON. */
async function printFound(
  {
    json = false,
    exclude,
    ...options
  }: Omit<PredictCliOptions, 'format'> & RecallOptions & { readonly json?: boolean },
  io: CliIo,
): Promise<void> {
  const { foundText, recall } = await import('../inference/recall/index.ts')
  const { shortNumber } = await import('../inference/export/index.ts')
  const line = (found: Found) =>
    json
      ? JSON.stringify({ ids: found.ids.map(String), scores: Array.from(found.scores, shortNumber) })
      : foundText(found)
  for await (const all of recall({ ...options, exclude: exclude === 'seen' ? true : exclude }))
    io.out.write(all.map((found) => `${line(found)}\n`).join(''))
}

function eitherOne(): UserError {
  return new UserError('name what to predict with: an export with --model, or an index with --index', {
    code: 'CLI_OPTION',
    hint: 'oarfish predict --model exported FILE, or oarfish predict --index index --k 10 FILE',
  })
}

/** How a config reads this file; data of an evaluation. */
export async function readerOf(path: string, overrides: readonly string[] = [], file = '') {
  const { loadConfig } = await import('../base/config/index.ts')
  const { inputOf } = await import('../training/threads/index.ts')
  const { config } = loadConfig({ path, overrides })
  return inputOf(config, 'infer', [file]).reader
}
