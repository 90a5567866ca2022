/** @file docs/reference/models.md: metrics of models and twins with their spread, and their rates. */
import { writeFileSync } from 'node:fs'
import { arch, cpus } from 'node:os'
import { markdown } from '../markdown.ts'
import { at, jsonLines, thousands } from '../tools.ts'
import { LEFT_OUT, RATE, SETS, ZOO } from './models.ts'
import type { Run } from './runs.ts'

export interface Measured extends Run {
  readonly model: string
  readonly side: 'oarfish' | 'torch'
  readonly seed: number
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
/** The standard deviation of seeds; 0 of one. */
export function spread(values: readonly number[]): number {
  const center = mean(values)
  return values.length < 2
    ? 0
    : Math.sqrt(values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1))
}

/** Within max(0.003, two standard errors of the difference). */
export function agrees(own: readonly number[], twin: readonly number[]): boolean {
  const error = Math.sqrt(spread(own) ** 2 / own.length + spread(twin) ** 2 / twin.length)
  return mean(own) > mean(twin) - Math.max(0.003, 2 * error)
}

/** One seed cannot tell a difference from luck. */
function verdict(own: readonly number[], twin: readonly number[]): string {
  if (agrees(own, twin)) return 'yes'
  return Math.min(own.length, twin.length) < 2 ? 'open' : '**no**'
}

export async function writePage(measured: readonly Measured[], path: string): Promise<void> {
  const rows: string[][] = []
  const ratios: number[] = []
  const slow: string[] = []
  for (const [model, { set }] of Object.entries(ZOO)) {
    const of = (side: Measured['side']) => measured.filter((run) => run.model === model && run.side === side)
    const [own, twin] = [of('oarfish'), of('torch')]
    if (own.length === 0 || twin.length === 0) continue
    const ratio = mean(own.map(({ rate }) => rate)) / mean(twin.map(({ rate }) => rate))
    ratios.push(ratio)
    if (ratio < 1.2) slow.push(model)
    const weights = await parametersOf(model)
    for (const [i, name] of Object.keys(own[0]!.metrics).entries()) {
      const [a, b] = [own, twin].map((runs) => runs.map(({ metrics }) => metrics[name]!)) as [number[], number[]]
      const figure = (values: readonly number[]) =>
        mean(values).toFixed(4) + (values.length > 1 ? ` ± ${spread(values).toFixed(4)}` : '')
      const rates =
        i > 0
          ? ['', '', '']
          : [...[own, twin].map((runs) => thousands(mean(runs.map(({ rate }) => rate)))), ratio.toFixed(2)]
      rows.push([
        i > 0 ? '' : model,
        set,
        name,
        figure(a),
        figure(b),
        verdict(a, b),
        String(Math.min(a.length, b.length)),
        ...rates,
        i > 0 ? '' : weights,
      ])
    }
  }
  const geometric = Math.exp(mean(ratios.map(Math.log)))
  writeFileSync(path, text(rows, geometric, slow))
  console.log(`Wrote ${path}: ${ratios.length} models, rates ${geometric.toFixed(2)} times PyTorch's (geometric mean).`)
}

async function parametersOf(model: string): Promise<string> {
  const keys = Object.entries(ZOO[model]!.hyper).map(
    ([key, value]) => `hyper_parameters.${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const config = at('models', model, 'config_bigdata.yaml')
  const [line] = await jsonLines(process.execPath, [
    at('bin', 'oarfish.js'),
    'model',
    'summary',
    '-m',
    config,
    '--json',
    '-o',
    ...keys,
  ])
  return thousands(Number(line!['parameters'] ?? Number.NaN))
}

function text(rows: readonly string[][], geometric: number, slow: readonly string[]): string {
  const sets = Object.entries(SETS).map(([name, { about, batch, epochs }]) => [
    `\`${name}\``,
    about,
    String(batch),
    String(epochs),
  ])
  return `<!-- Written by npm run zoo -- --report. -->
# Models on real data

Each model beside its PyTorch twin (\`test/python/twins\`, written from the paper or the upstream net) on the same rows in the same order, with the same sizes, optimizer, rate and number of epochs: Adam
at ${RATE}${otherRates()}. Metrics are those of the test rows, mean and standard deviation over the seeds. *Agrees* is: not below the twin by more than 0.003 or two standard errors, whichever is more; *open* is: farther off, with one seed.
Rates are training samples for each second of processor time, one thread each, eager PyTorch; ours include reading the text, the twin's do not.
Measured ${new Date().toISOString().slice(0, 10)} on ${cpus().length} cores (${arch()}) that other programs used too. The sets are small and nothing was tuned: the table says whether both sides learn the same, not
what a model can reach. What SASRec reaches with the recipe of its paper is in [its own README](../../models/recall/sasrec/README.md#figures).

${markdown(['set', 'rows', 'batch', 'epochs'], sets)}

${markdown(['model', 'set', 'metric', 'Oarfish', 'PyTorch', 'agrees', 'seeds', 'samples/s', 'PyTorch', 'times', 'dense parameters'], rows)}

${rows.length > 0 ? missingText(rows) : ''}Rates: ${geometric.toFixed(2)} times PyTorch's (geometric mean)${slow.length > 0 ? `; below 1.2 times: ${slow.join(', ')}` : '; none below 1.2 times'}.

## Not in the table

What their data need, which the sets above do not have, or why no twin was trained; five steps of each but slot_dnn agree with PyTorch's (\`test/models/parity.test.ts\`).

${markdown(['model', 'reason'], Object.entries(LEFT_OUT) as [string, string][])}
`
}

function otherRates(): string {
  const rates = Object.entries(ZOO).flatMap(([model, { rate, sgd }]) =>
    sgd && rate ? [`${model.split('/')[1]} by SGD at ${rate}`] : [],
  )
  return rates.length > 0 ? ` (${rates.join(', ')})` : ''
}

/** Models that have a twin and no figures yet are named, not left out in silence. */
function missingText(rows: readonly string[][]): string {
  const missing = Object.keys(ZOO).filter((model) => !rows.some(([name]) => name === model))
  return missing.length > 0 ? `Not measured yet: ${missing.join(', ')}.\n\n` : ''
}
