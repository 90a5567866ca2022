/**
 * @file `npm run zoo -- --report [--only rank/fm,ple] [--seeds 3] [--smoke]`: trains each model on its real set beside its PyTorch twin and writes
 * docs/reference/models.md. What was measured is kept in .cache/bench/zoo.jsonl, so that a run that was stopped goes on; `--fresh` begins anew.
 */
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { at, jsonLines, scratch } from '../tools.ts'
import { writeRows } from './forms.ts'
import { SETS, type SetName, ZOO } from './models.ts'
import { type Measured, writePage } from './page.ts'
import { trainModel, trainTwin } from './runs.ts'

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== '--'),
  options: {
    report: { type: 'boolean' },
    only: { type: 'string' },
    seeds: { type: 'string', default: '3' },
    smoke: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
  },
})

const raw = process.env['OARFISH_DATA']
if (!raw) {
  console.error('OARFISH_DATA names the folder with ml-100k, games and census; it is not set.')
  process.exit(2)
}
const python = process.env['OARFISH_PYTHON'] ?? 'python3'
const wanted = values.only?.split(',')
const models = Object.keys(ZOO).filter(
  (name) => !wanted || wanted.some((word) => name === word || name.endsWith(`/${word}`)),
)
if (models.length === 0) {
  console.error(`--only ${values.only}: none of ${Object.keys(ZOO).join(', ')}`)
  process.exit(2)
}

const notes = scratch(values.smoke ? 'zoo-smoke.jsonl' : 'zoo.jsonl')
if (values.fresh) rmSync(notes, { force: true })
const measured: Measured[] = existsSync(notes)
  ? readFileSync(notes, 'utf8')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Measured)
  : []

const seeds = Array.from({ length: values.smoke ? 1 : Number(values.seeds) }, (_, i) => i + 1)
// Model by model, both sides in turn, so that both meet the same machine.
for (const model of models) for (const side of ['oarfish', 'torch'] as const) await tried(model, side)
if (values.smoke) console.log('A smoke run writes no page.')
else await writePage(measured, at('docs', 'reference', 'models.md'))

/** One model that does not train is said, and does not keep the others from it. */
async function tried(model: string, side: Measured['side']): Promise<void> {
  try {
    await measure(model, side)
  } catch (error) {
    console.error(`${model}, ${side}: ${(error as Error).message}`)
    process.exitCode = 1
  }
}

async function measure(model: string, side: Measured['side']): Promise<void> {
  const has = (seed: number) => measured.some((run) => run.model === model && run.side === side && run.seed === seed)
  const missing = seeds.filter((seed) => !has(seed))
  if (missing.length === 0) return
  const spec = ZOO[model]!
  const { data, found } = await prepared(spec.set)
  const job = { ...spec, model, data, epochs: values.smoke ? 1 : SETS[spec.set].epochs, found }
  if (side === 'torch') {
    const runs = await trainTwin(python, job, missing)
    for (const [i, seed] of missing.entries()) note({ model, side, seed, ...runs[i]! })
  } else for (const seed of missing) note({ model, side, seed, ...(await trainModel({ ...job, seed })) })
}

function note(line: Measured): void {
  measured.push(line)
  appendFileSync(notes, `${JSON.stringify(line)}\n`)
  const shown = Object.entries(line.metrics).map(([name, value]) => `${name} ${value.toFixed(4)}`)
  const rate = `${Math.round(line.rate)} samples a processor second`
  console.log(`${line.model}, ${line.side}, seed ${line.seed}: ${shown.join(', ')}, ${rate}`)
}

/** The set in the form that models read, made once. */
async function prepared(set: SetName): Promise<{ data: string; found: Readonly<Record<string, unknown>> }> {
  const data = scratch(`zoo-${set}`)
  const note = join(data, 'prepared.json')
  const { folder, rows, of } = SETS[set]
  if (!existsSync(note) && rows) {
    writeRows(data, rows(of ? (await prepared(of)).data : join(raw!, folder)))
    appendFileSync(note, '{}')
  }
  if (!existsSync(note)) {
    const from = join(raw!, folder)
    const args = [at('bin', 'oarfish.js'), 'data', set, '--from', from, '--out', data, '--force', '--json']
    const [line] = await jsonLines(process.execPath, args)
    appendFileSync(note, JSON.stringify(set === 'census' ? line!['hyper'] : {}))
  }
  return { data, found: JSON.parse(readFileSync(note, 'utf8')) as Record<string, unknown> }
}
