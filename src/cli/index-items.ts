/** @file `oarfish index`: the items of a saved epoch as an index that finds the nearest of a user. */
import { Command, InvalidArgumentError } from 'commander'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, oneOf, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface IndexCliOptions extends ConfigOptions {
  readonly out: string
  readonly epoch?: number
  readonly from?: string
  readonly vectors?: string
  readonly kind: string
  readonly recall: number
  readonly json?: boolean
}

const KINDS = ['auto', 'exact', 'approximate'] as const

export function indexCommand(io: CliIo): Command {
  const command = new Command('index').description(
    'Write an index of the items of a saved epoch, with what makes a user vector: for `oarfish serve --index` and `oarfish predict --index` (docs/guide/recall.md).',
  )
  return addConfigOptions(command)
    .requiredOption('--out <folder>', 'the folder to write; an index that is there is replaced once all is written')
    .option(
      '--epoch <n>',
      'which epoch of runner.model_save_path; unless given the best of training with keep_best or early_stop, else the last',
      wholeNumber,
    )
    .option('--from <file>', 'the items: one id a line, or lines with their features; unless given all of the table')
    .option('--vectors <folder>', 'take the items that `oarfish export --vectors item` wrote of the same model')
    .option('--kind <name>', 'auto (exact up to 100,000 items), exact or approximate', 'auto')
    .option('--recall <share>', 'of the 50 nearest, what an approximate index is to find', share, 0.95)
    .option('--json', 'print events as JSON lines')
    .action((options: IndexCliOptions) => runIndex(options, io))
}

async function runIndex({ config_yaml, opt = [], json = false, ...options }: IndexCliOptions, io: CliIo) {
  const kind = oneOf('--kind', KINDS, options.kind)
  const { loadConfig } = await import('../base/config/index.ts')
  const { buildIndex } = await import('../training/driver/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  const output = openOutput(io, { json })
  try {
    await buildIndex({ config, ...options, kind: kind === 'auto' ? undefined : kind, emit: output.emit })
  } finally {
    output.close()
  }
}

function share(typed: string): number {
  const value = Number(typed)
  if (typed.trim() === '' || !(value > 0 && value <= 1))
    throw new InvalidArgumentError('Expected a share above 0, up to 1.')
  return value
}
