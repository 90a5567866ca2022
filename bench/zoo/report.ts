/**
 * @file `npm run zoo -- --report [--only rank/fm,ple] [--seeds 3] [--smoke]`: trains each model on its real set beside its PyTorch twin and writes
 * docs/reference/models.md. What was measured is kept in .cache/bench/zoo.jsonl, so that a run that was stopped goes on; `--fresh` begins anew.
 */
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { at, jsonLines, scratch } from '../tools.ts'
import { SETS, type SetName, ZOO } from './models.ts'
import { type Measured, writePage } from './page.ts'
import { type Run, trainModel, trainTwin } from './runs.ts'

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
  console.error('OARFISH_DATA names the folder with ml-100k and census; it is not set.')
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
// Seed by seed, so that all models have a figure early; model and twin in turn, so that both meet the same machine.
for (const seed of seeds)
  for (const model of models) for (const side of ['oarfish', 'torch'] as const) await tried(model, side, seed)
if (values.smoke) console.log('A smoke run writes no page.')
else await writePage(measured, at('docs', 'reference', 'models.md'))

/** One model that does not train is said, and does not keep the others from it. */
async function tried(model: string, side: Measured['side'], seed: number): Promise<void> {
  try {
    await measure(model, side, seed)
  } catch (error) {
    console.error(`${model}, ${side}, seed ${seed}: ${(error as Error).message}`)
    process.exitCode = 1
  }
}

async function measure(model: string, side: Measured['side'], seed: number): Promise<void> {
  if (measured.some((run) => run.model === model && run.side === side && run.seed === seed)) return
  const spec = ZOO[model]!
  const { data, found } = await prepared(spec.set)
  const epochs = values.smoke ? 1 : SETS[spec.set].epochs
  const job = { ...spec, model, data, seed, epochs, found }
  const run: Run = side === 'oarfish' ? await trainModel(job) : await trainTwin(python, job)
  const line: Measured = { model, side, seed, ...run }
  measured.push(line)
  appendFileSync(notes, `${JSON.stringify(line)}\n`)
  const shown = Object.entries(run.metrics).map(([name, value]) => `${name} ${value.toFixed(4)}`)
  console.log(
    `${model}, ${side}, seed ${seed}: ${shown.join(', ')}, ${Math.round(run.rate)} samples a processor second`,
  )
}

/** The set in the form that models read, made once. */
async function prepared(set: SetName): Promise<{ data: string; found: Readonly<Record<string, unknown>> }> {
  const data = scratch(`zoo-${set}`)
  const note = join(data, 'prepared.json')
  if (!existsSync(note)) {
    const from = join(raw!, SETS[set].folder)
    const args = [at('bin', 'oarfish.js'), 'data', set, '--from', from, '--out', data, '--force', '--json']
    const [line] = await jsonLines(process.execPath, args)
    appendFileSync(note, JSON.stringify(set === 'census' ? line!['hyper'] : {}))
  }
  return { data, found: JSON.parse(readFileSync(note, 'utf8')) as Record<string, unknown> }
}
