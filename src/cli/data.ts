/** @file `oarfish data`: makes data sets to try things on, and brings published ones to the form that models read. */
import { resolve } from 'node:path'
import { Command } from 'commander'
import { paceOn } from '../base/event/index.ts'
import { shellWord } from '../base/util/index.ts'
import type { CriteoLikeResult, DemoDaysResult, GeneratedFormat, RawDataOptions, RawDataResult } from '../data/index.ts'
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

interface DaysCliOptions {
  readonly out: string
  readonly start: string
  readonly days: number
  readonly splitInterval: number
  readonly rows: number
  readonly slots: number
  readonly seed: number
  readonly donefile?: string
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
  command
    .command('days')
    .description(
      'Write days of clicks for online training: <day>/<HHMM>/part-000 of feasign:slot lines, whose signs come and go.',
    )
    .requiredOption('--out <folder>', 'where the folders of days are written')
    .option('--start <day>', 'the first day, YYYYMMDD', '20190720')
    .option('--days <n>', 'how many days', wholeNumber, 3)
    .option('--split-interval <minutes>', 'minutes of a folder, as runner.split_interval', wholeNumber, 30)
    .option('--rows <n>', 'lines of a folder', wholeNumber, 100)
    .option('--slots <n>', 'slots beside the click, as hyper_parameters.slot_num', wholeNumber, 300)
    .option('--seed <n>', 'the same seed gives the same lines', wholeNumber, 1)
    .option('--donefile <name>', 'also write this empty file into each folder, as runner.data_donefile waits for')
    .option('--force', 'replace days that are there')
    .option('--json', 'print the result as one JSON line')
    .action((options: DaysCliOptions) => demoDays(options, io))
  for (const [name, { description, prepare, ...trained }] of Object.entries(PUBLISHED)) {
    command
      .command(name)
      .description(description)
      .requiredOption('--from <folder>', 'the published files')
      .requiredOption('--out <folder>', 'where train/ and test/ are written')
      .option('--force', 'replace train/ and test/ of a folder that is not empty')
      .option('--json', 'print the result as one JSON line')
      .action(async ({ json = false, ...options }: RawDataOptions & { readonly json?: boolean }) => {
        const result = await (await prepare())({
          ...options,
          onProgress: json ? undefined : paceOn(io.out, 'reading', 'bytes'),
        })
        const line = JSON.stringify({ kind: 'prepared', ...result })
        io.out.write(json ? `${line}\n` : preparedSummary(result, options.out, trained))
      })
  }
  return command
}

/** Data sets by the name of their command. `isText`: the model's config reads PaddleRec's own files, so that the built-in reader of text must be named. */
const PUBLISHED = {
  movielens: {
    description:
      'MovieLens 100k (u.data, u.item, u.user) as clicks: 8 slots and 2 dense values, for the models of rank/.',
    prepare: async () => (await import('../data/index.ts')).prepareMovielens,
    model: 'rank.dcn',
  },
  census: {
    description:
      "UCI's census (adult.data, adult.test) with two tasks, income and marital status, for mmoe, ple and share_bottom of multitask/.",
    prepare: async () => (await import('../data/index.ts')).prepareCensus,
    model: 'multitask.mmoe',
    isText: true,
  },
  'amazon-sequences': {
    description: "Amazon games (Video.txt of SASRec's authors) as histories, one a line, for recall/sasrec.",
    prepare: async () => (await import('../data/index.ts')).prepareSequences,
    model: 'recall.sasrec',
  },
  criteo: {
    description:
      "Criteo's display ads (Kaggle's train.txt) as clicks: 26 slots and 13 dense values, for the models of rank/.",
    prepare: async () => (await import('../data/index.ts')).prepareCriteo,
    model: 'rank.dnn',
  },
  avazu: {
    description:
      "Avazu's clicks (Kaggle's train.csv) as 23 slots, the last day being the test, for rank/flen; other models of rank/ take no group_sizes.",
    prepare: async () => (await import('../data/index.ts')).prepareAvazu,
    model: 'rank.flen',
  },
  'ali-ccp': {
    description:
      "Alibaba's clicks and conversions (sample_skeleton_*.csv, common_features_*.csv) as 23 fields, for esmm, escm2, aitm and pepnet of multitask/.",
    prepare: async () => (await import('../data/index.ts')).prepareAliCcp,
    model: 'multitask.esmm',
    isText: true,
  },
  alimama: {
    description:
      "Alibaba's display ads (raw_sample.csv, ad_feature.csv, user_profile.csv) as 15 slots and a price, for the models of rank/.",
    prepare: async () => (await import('../data/index.ts')).prepareAlimama,
    model: 'rank.dnn',
  },
} as const

const READ_AS_TEXT = ['reader_type=RecDataset', 'train_reader_path=reader', 'infer_reader_path=reader'].map(
  (key) => `runner.${key}`,
)

function preparedSummary(
  { trainRows, testRows, hyper }: RawDataResult,
  out: string,
  { model, isText = false }: { readonly model: string; readonly isText?: boolean },
): string {
  const count = (value: number) => value.toLocaleString('en-US')
  const keys = Object.entries(hyper).map(([key, value]) =>
    shellWord(`hyper_parameters.${key}=${JSON.stringify(value)}`),
  )
  const readers = isText ? READ_AS_TEXT : []
  return `Wrote ${count(trainRows)} training and ${count(testRows)} test rows to ${out}.
To train on it:
  oarfish train -m paddlerec.models.${model}/config_bigdata.yaml -o ${[...keys, ...readers, ...foldersOf(out)].join(' ')}
`
}

function foldersOf(out: string): string[] {
  return ['train', 'test'].map((name) => shellWord(`runner.${name}_data_dir=${resolve(out, name)}`))
}

async function criteoLike({ json = false, force = false, ...options }: CriteoLikeCliOptions, io: CliIo): Promise<void> {
  const { GENERATED_FORMATS, generateCriteoLike } = await import('../data/index.ts')
  const format = oneOf('--format', GENERATED_FORMATS, options.format)
  const result = generateCriteoLike({
    ...options,
    format,
    force,
    onProgress: json ? () => undefined : paceOn(io.out, 'writing', 'rows'),
  })
  io.out.write(
    json
      ? `${JSON.stringify({ kind: 'generated', ...result })}\n`
      : summary(result, options.out) + trainHint(format, options.out),
  )
}

async function demoDays({ json = false, ...options }: DaysCliOptions, io: CliIo): Promise<void> {
  const { generateDemoDays } = await import('../data/index.ts')
  const result = generateDemoDays({ ...options, onProgress: json ? undefined : paceOn(io.out, 'writing', 'rows') })
  const line = JSON.stringify({ kind: 'generated', ...result })
  io.out.write(json ? `${line}\n` : daysSummary(result, options))
}

function daysSummary({ days, splits, rows, positiveShare }: DemoDaysResult, options: DaysCliOptions): string {
  const { out, splitInterval } = options
  const last = days.at(-1)!
  const keys = [`train_data_dir=${resolve(out)}`, `start_day=${days[0]}`, `end_day=${last}`]
  const settings = [...keys, `split_interval=${splitInterval}`].map((key) => shellWord(`runner.${key}`))
  return `Wrote ${rows.toLocaleString('en-US')} lines to ${out}: ${days[0]} to ${last}, ${splits} folders a day. Clicks: ${(100 * positiveShare).toFixed(1)} %.
To train on it:
  oarfish train -m models/rank/slot_dnn/config_online.yaml -o ${settings.join(' ')}
`
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
