/** @file `npm run bench`: every figure of docs/reference/benchmarks.md in one run on one machine, beside the peers. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureModes } from './accuracy/modes.ts'
import { measureAccuracy } from './accuracy.ts'
import { criteoLike } from './dataset.ts'
import { measureDevice } from './device.ts'
import { measureFeatures } from './features.ts'
import { measureLibrary } from './library.ts'
import { measureOnline } from './online.ts'
import { measureFollowing } from './online-following.ts'
import { measureSchedule } from './online-schedule.ts'
import { measurePasses } from './passes.ts'
import { type Figures, report, writeDocs } from './report.ts'
import { measureSpeed } from './speed.ts'
import { measureTiers } from './tiers.ts'
import { at, script } from './tools.ts'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    rows: { type: 'string', default: '400000' },
    rounds: { type: 'string', default: '3' },
    'paddle-rows': { type: 'string', default: '2000000' },
    'table-rows': { type: 'string', default: '50000000' },
    // Where the peers are: a Python with torch, one with paddlepaddle 2.6.2, and the folder of their scripts.
    torch: { type: 'string' },
    paddle: { type: 'string' },
    peers: { type: 'string', default: at('..', 'shared', 'bench') },
    'write-docs': { type: 'boolean', default: false },
    // With --modes the accuracy is that of several workers beside one process: see accuracy/modes.ts.
    modes: { type: 'string' },
    plan: { type: 'string', default: 'final' },
    workers: { type: 'string', default: '2,4' },
    models: { type: 'string' },
    data: { type: 'string' },
    optimizers: { type: 'string', default: 'own' },
    seeds: { type: 'string', default: '8' },
    'geo-step': { type: 'string', default: '100' },
    'geo-dense-step': { type: 'string', default: '2' },
    'geo-delta': { type: 'string', default: 'whole' },
    results: { type: 'string' },
    // With `--only tiers`; more rows than 20 million are not measured in memory too.
    'tier-rows': { type: 'string', default: '20000000' },
    'tier-limit': { type: 'string', default: '512MB' },
    'tier-samples': { type: 'string', default: '400000' },
    // With `--only online`, `--only following`.
    'online-rows': { type: 'string', default: '10000000' },
    // With `--only library`: the commit whose import is compared.
    base: { type: 'string' },
  },
})

const PYTHON_READER = 'python3 slot_reader.py'

if (options.modes !== undefined) {
  await measureModes({ ...options, modes: options.modes })
  process.exit(0)
}

const rows = Number(options.rows)
if (options.only?.includes('library')) {
  const isFast = await measureLibrary({ rows, rounds: Number(options.rounds), base: options.base })
  process.exit(isFast ? 0 : 1)
}
if (options.only?.includes('device')) {
  const results = [await measureDevice(), await measurePasses()]
  process.exit(results.every(Boolean) ? 0 : 1)
}
if (options.only?.includes('online')) process.exit((await measureOnline(Number(options['online-rows']), 7)) ? 0 : 1)
if (options.only?.includes('schedule')) process.exit((await measureSchedule()) ? 0 : 1)
if (options.only?.includes('following')) process.exit((await measureFollowing(Number(options['online-rows']))) ? 0 : 1)
if (options.only?.includes('tiers')) {
  const [tierRows, samples] = [Number(options['tier-rows']), Number(options['tier-samples'])]
  const isFast = await measureTiers({
    rows: tierRows,
    limit: options['tier-limit'],
    samples,
    beside: tierRows <= 20_000_000,
  })
  process.exit(isFast ? 0 : 1)
}
if (options.only?.includes('features')) process.exit((await measureFeatures(rows, Number(options.rounds))) ? 0 : 1)
const [TABLE_ROWS, PADDLE_ROWS] = [options['table-rows'], options['paddle-rows']]

/** In the order in which they run. */
const PARTS: Readonly<Record<string, () => Promise<Figures>>> = {
  speed: async () => ({
    speed: await measureSpeed({
      rounds: Number(options.rounds),
      slot: await criteoLike(rows, 'slot', 1),
      multislot: await criteoLike(rows, 'multislot', 1),
      torch: peer(options.torch, 'torch_dnn.py'),
      paddle: peer(options.paddle, 'paddle_dnn.py'),
      onnxPython: options.torch,
    }),
  }),
  reader: async () => ({
    reader: [
      ...(await script('reader.ts', [await criteoLike(rows, 'slot', 1, 'train'), 'slot', 2])),
      ...(await script('reader.ts', [await criteoLike(rows, 'multislot', 1, 'train'), 'multislot', 2])),
      ...(await script('reader.ts', [await criteoLike(rows, 'multislot', 1, 'gz'), 'multislot', 2])),
      ...(await script('reader.ts', [await criteoLike(rows, 'multislot', 1, 'train'), 'multislot', 2, 'cat'])),
      // Some ten times slower than the rest: fewer rows.
      ...(await script('reader.ts', [await criteoLike(rows / 10, 'slot', 1, 'train'), 'multislot', 2, PYTHON_READER])),
      ...(await script('reader.ts', [await criteoLike(rows, 'multislot', 1, 'csv'), 'csv', 2])),
      ...(await script('reader.ts', [await criteoLike(rows, 'multislot', 1, 'parquet'), 'parquet', 2])),
    ],
  }),
  table: async () => ({
    table: [
      ...(await script('table.ts', [1_000_000, 'skewed'])),
      ...(await script('table.ts', [1_000_000, 'uniform'])),
      ...(await script('table.ts', [TABLE_ROWS, 'skewed'])),
      ...(await script('table.ts', [TABLE_ROWS, 'uniform'])),
    ],
  }),
  fluid: async () => ({ fluid: await script('fluid.ts', ['--rows', options.rows, '--rounds', options.rounds]) }),
  ps: async () => ({ ps: await script('ps.ts', psArguments()) }),
  'paddle-files': async () => ({
    paddleFiles: await script('paddle-files.ts', options.paddle ? [PADDLE_ROWS, options.paddle] : [PADDLE_ROWS]),
  }),
  collective: async () => ({ collective: await script('collective.ts', [options.rounds]) }),
  dp: async () => ({ dataParallel: await script('data-parallel.ts', [options.rows, options.rounds]) }),
  serve: async () => ({ serve: await script('serve.ts', [10, 1]) }),
  accuracy: async () => ({ accuracy: await measureAccuracy(rows, peer(options.torch, 'torch_auc.py')) }),
}

const wanted = new Set(options.only?.flatMap((names) => names.split(',')) ?? Object.keys(PARTS))
const unknown = [...wanted].filter((name) => !(name in PARTS))
if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}: ${Object.keys(PARTS).join(', ')}`)

const figures: Figures = {}
for (const [name, measure] of Object.entries(PARTS)) if (wanted.has(name)) Object.assign(figures, await measure())

console.log(`\n${report(figures)}`)
if (options['write-docs']) writeDocs(figures)

/** A program to be measured beside, where it is. */
function peer(python: string | undefined, file: string) {
  const found = python !== undefined && existsSync(python) && existsSync(`${options.peers}/${file}`)
  if (!found)
    console.log(`- ${file} is left out: give --${file.startsWith('torch') ? 'torch' : 'paddle'} PYTHON and --peers DIR`)
  return found ? { python, script: `${options.peers}/${file}` } : undefined
}

function psArguments(): string[] {
  const found = peer(options.paddle, 'paddle_dnn.py')
  const beside = found ? ['--paddle', found.python, '--script', found.script] : []
  return ['--rows', options.rows, '--rounds', options.rounds, ...beside]
}
