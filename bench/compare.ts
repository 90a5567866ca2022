/**
 * @file `npm run bench -- --compare REF [--only speed,ps,geo,startup] [--rounds 5] [--rows 400000]`: this tree beside another commit, in turn on
 * one machine. Ends with 1 when a figure is lower than that of REF by more than its noise and more than 3 %. Results are appended to
 * bench/history.jsonl (`--no-history` leaves it alone). Both sides are run as users run them, so that REF may be old.
 */
import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { builtCommit } from './built-commit.ts'
import { COMPARED, type Measured, prepareData } from './compared.ts'
import { markdown } from './markdown.ts'
import { type Comparison, compare } from './noise.ts'
import { at, median } from './tools.ts'

/** A loss below it is not worth a failure, even where noise is lower still. */
const TOLERATED = 0.03
/** Of fewer rounds nobody can say what is chance. */
const FEWEST = 5

const { values: options } = parseArgs({
  options: {
    compare: { type: 'string', default: '' },
    only: { type: 'string', multiple: true, default: Object.keys(COMPARED) },
    rounds: { type: 'string', default: '5' },
    rows: { type: 'string', default: '400000' },
    'no-history': { type: 'boolean', default: false },
  },
})
const parts = options.only.flatMap((names) => names.split(','))
const unknown = parts.filter((name) => !(name in COMPARED))
if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}: ${Object.keys(COMPARED).join(', ')}`)

const rounds = Number(options.rounds)
if (rounds < FEWEST) console.log(`Fewer than ${FEWEST} rounds: what differs may be chance, and nothing fails.`)
const base = builtCommit(options.compare)
const data = await prepareData(Number(options.rows))
const results: Result[] = []
for (const part of parts) {
  for (const { name, unit, measure } of COMPARED[part]!)
    results.push(await inTurn(part, { name, unit, measure: (folder) => measure(folder, data) }))
}
console.log(
  `\nThis tree (${commitOf('HEAD')}${isChanged() ? ', changed' : ''}) beside ${base.commit}, ${machineText()}:\n`,
)
console.log(table(results))
if (!options['no-history']) for (const result of results) remember(result)
const lost = results.filter(isLoss)
for (const { part, name, comparison } of lost)
  console.error(`x ${part}, ${name}: ${percent(comparison.ratio)} of ${base.commit}, beyond its noise`)
process.exit(lost.length > 0 ? 1 : 0)

interface Figure {
  readonly name: string
  /** Of rates more is better, of seconds less. */
  readonly unit: 'samples/s' | 's'
  readonly measure: (folder: string) => Promise<number>
}

interface Result extends Omit<Figure, 'measure'> {
  readonly part: string
  readonly here: Measured
  readonly there: Measured
  /** Above 1 is better than REF. */
  readonly comparison: Comparison
}

/** Who goes first changes from round to round: what a machine does by and by hits both alike. */
async function inTurn(part: string, { name, unit, measure }: Figure): Promise<Result> {
  const sides = [
    { folder: at('.'), values: [] as number[] },
    { folder: base.folder, values: [] as number[] },
  ] as const
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) side.values.push(await measure(side.folder))
    const [here, there] = sides.map(({ values }) => values.at(-1)!)
    console.log(`  ${part}, ${name}, round ${round + 1}: ${shown(here!)} beside ${shown(there!)} ${unit}`)
  }
  const [here, there] = sides.map(({ values }) => values) as [number[], number[]]
  return { part, name, unit, here, there, comparison: unit === 's' ? compare(there, here) : compare(here, there) }
}

function isLoss({ comparison: { ratio, high } }: Result): boolean {
  return rounds >= FEWEST && ratio < 1 - TOLERATED && high < 1
}

function table(results: readonly Result[]): string {
  const rows = results.map((result) => {
    const { part, name, unit, here, there, comparison } = result
    const { ratio, low, high } = comparison
    const between = `${percent(low)} to ${percent(high)}`
    return [
      ...[`${part}, ${name}`, unit, shown(median(here)), shown(median(there))],
      ...[
        percent(ratio),
        between,
        isLoss(result) ? 'slower' : low > 1 && rounds >= FEWEST ? 'faster' : 'no difference',
      ],
    ]
  })
  return markdown(['median of rounds', 'unit', 'this tree', base.commit, 'ratio (more is better)', '90 %', ''], rows)
}

function remember({ part, name, unit, here, there, comparison }: Result): void {
  const line = {
    date: new Date().toISOString(),
    commit: commitOf('HEAD'),
    changed: isChanged() || undefined,
    base: base.commit,
    machine: { cpu: cpus()[0]?.model.trim(), cores: cpus().length, node: process.version },
    part: `${part}, ${name}`,
    unit,
    rows: Number(options.rows),
    rounds,
    values: here.map(rounded),
    baseValues: there.map(rounded),
    ratio: rounded(comparison.ratio),
    between: [rounded(comparison.low), rounded(comparison.high)],
  }
  appendFileSync(at('bench', 'history.jsonl'), `${JSON.stringify(line)}\n`)
}

function commitOf(ref: string): string {
  return execFileSync('git', ['rev-parse', '--short', ref], { cwd: at('.'), encoding: 'utf8' }).trim()
}

/** Apart from the history, which is written by this. */
function isChanged(): boolean {
  const status = ['status', '--porcelain', '--untracked-files=no', '--', '.', ':!bench/history.jsonl']
  return execFileSync('git', status, { cwd: at('.'), encoding: 'utf8' }) !== ''
}

function machineText(): string {
  return `Node ${process.version} on ${cpus().length} cores (${cpus()[0]?.model.trim()})`
}

function percent(ratio: number): string {
  return `${(100 * ratio).toFixed(1)} %`
}

function shown(value: number): string {
  return value < 100 ? value.toFixed(3) : Math.round(value).toLocaleString('en-US')
}

function rounded(value: number): number {
  return Number(value.toPrecision(5))
}
