/** @file `oarfish data`: makes data sets to try things on. */
import { resolve } from 'node:path'
import { Command } from 'commander'
import { shellWord } from '../base/util/index.ts'
import type { CriteoLikeResult, GeneratedFormat } from '../data/index.ts'
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
  return command
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
  const folders = ['train', 'test'].map((name) => shellWord(`runner.${name}_data_dir=${resolve(out, name)}`))
  return `To train on it:
  oarfish train -m paddlerec.models.rank.dnn -o runner.train_batch_size=512 ${folders.join(' ')}
`
}
