/** @file `oarfish data`: makes data sets to try things on, and brings published ones to the form that models read. */
import { resolve } from 'node:path'
import { Command } from 'commander'
import { shellWord } from '../base/util/index.ts'
import type { CriteoLikeResult, GeneratedFormat, RawDataOptions, RawDataResult } from '../data/index.ts'
import type { CliIo } from './io.ts'
import { oneOf, wholeNumber } from './options.ts'

interface CriteoLikeCliOptions {
  readonly rows: number
  readonly seed: number
  readonly parts: number
  readonly format: string
  readonly out: string
  readonly force?: boolean
  readonly json?: boolean
}

export function dataCommand(io: CliIo): Command {
  const command = new Command('data').description('Make data sets.')
  command
    .command('criteo-like')
    .description(
      'Write clicks like those of Criteo: 13 dense values, 26 long-tailed slots, and a hidden model whose own AUC is printed.',
    )
    .requiredOption('--out <folder>', 'where train/ and test/ are written')
    .option('--rows <n>', 'rows of train/; test/ has a tenth of that besides', wholeNumber, 400_000)
    .option('--seed <n>', 'the same seed gives the same rows', wholeNumber, 1)
    .option('--parts <n>', 'files of train/', wholeNumber, 8)
    .option('--format <form>', 'slot, multislot or criteo-tsv', 'slot')
    .option('--force', 'replace train/ and test/ of a folder that is not empty')
    .option('--json', 'print the result as one JSON line')
    .action((options: CriteoLikeCliOptions) => criteoLike(options, io))
  for (const [name, { description, prepare, model }] of Object.entries(PUBLISHED)) {
    command
      .command(name)
      .description(description)
      .requiredOption('--from <folder>', 'the published files')
      .requiredOption('--out <folder>', 'where train/ and test/ are written')
      .option('--force', 'replace train/ and test/ of a folder that is not empty')
      .option('--json', 'print the result as one JSON line')
      .action(async ({ json = false, ...options }: RawDataOptions & { readonly json?: boolean }) => {
        const result = await (await prepare())({ ...options, onProgress: json ? undefined : progress(io) })
        const line = JSON.stringify({ kind: 'prepared', ...result })
        io.out.write(json ? `${line}\n` : preparedSummary(result, options.out, model))
      })
  }
  return command
}

/** Data sets by the name of their command. */
const PUBLISHED = {
  movielens: {
    description:
      'MovieLens 100k (u.data, u.item, u.user) as clicks: 8 slots and 2 dense values, for the models of rank/.',
    prepare: async () => (await import('../data/index.ts')).prepareMovielens,
    model: 'rank.dcn',
  },
  'amazon-sequences': {
    description: "Amazon games (Video.txt of SASRec's authors) as histories, one a line, for recall/sasrec.",
    prepare: async () => (await import('../data/index.ts')).prepareSequences,
    model: 'recall.sasrec',
  },
} as const

function preparedSummary({ trainRows, testRows, hyper }: RawDataResult, out: string, model: string): string {
  const count = (value: number) => value.toLocaleString('en-US')
  const keys = Object.entries(hyper).map(([key, value]) => `hyper_parameters.${key}=${value}`)
  return `Wrote ${count(trainRows)} training and ${count(testRows)} test rows to ${out}.
To train on it:
  oarfish train -m paddlerec.models.${model} -o ${[...keys, ...foldersOf(out)].join(' ')}
`
}

function foldersOf(out: string): string[] {
  return ['train', 'test'].map((name) => shellWord(`runner.${name}_data_dir=${resolve(out, name)}`))
}

async function criteoLike({ json = false, force = false, ...options }: CriteoLikeCliOptions, io: CliIo): Promise<void> {
  const { GENERATED_FORMATS, generateCriteoLike } = await import('../data/index.ts')
  const format = oneOf('--format', GENERATED_FORMATS, options.format)
  const result = generateCriteoLike({ ...options, format, force, onProgress: json ? () => undefined : progress(io) })
  io.out.write(
    json
      ? `${JSON.stringify({ kind: 'generated', ...result })}\n`
      : summary(result, options.out) + trainHint(format, options.out),
  )
}

function progress({ out }: CliIo) {
  return (rows: number, ofRows: number) => {
    if (out.isTTY) out.write(rows === ofRows ? '\r\x1b[K' : `\rwriting ${Math.floor((100 * rows) / ofRows)}%`)
  }
}

function summary({ trainRows, testRows, files, positiveShare, hiddenAuc }: CriteoLikeResult, out: string): string {
  const count = (value: number) => value.toLocaleString('en-US')
  return `Wrote ${count(trainRows)} training and ${count(testRows)} test rows to ${out} in ${files.length} files.
Clicks: ${(100 * positiveShare).toFixed(1)} %. The hidden model's own AUC on the test rows, which no model beats: ${hiddenAuc.toFixed(4)}.
`
}

/** Criteo's own columns need a reader of the user's, so there is no command to give. */
function trainHint(format: GeneratedFormat, out: string): string {
  if (format === 'criteo-tsv') return ''
  return `To train on it:
  oarfish train -m paddlerec.models.rank.dnn -o runner.train_batch_size=512 ${foldersOf(out).join(' ')}
`
}
