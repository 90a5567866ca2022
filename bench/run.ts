/** @file `npm run bench`: every figure of docs/benchmarks.md in one run on one machine, beside the peers. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureAccuracy } from './accuracy.ts'
import { criteoLike } from './dataset.ts'
import { report, writeDocs } from './report.ts'
import { measureSpeed } from './speed.ts'
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
  },
})

const PYTHON_READER = 'python3 slot_reader.py'
const PARTS = [
  'speed',
  'reader',
  'table',
  'accuracy',
  'serve',
  'ps',
  'fluid',
  'paddle-files',
  'collective',
  'dp',
] as const
const wanted = new Set<string>(options.only ?? PARTS)
const peer = (python: string | undefined, file: string) => {
  const found = python !== undefined && existsSync(python) && existsSync(`${options.peers}/${file}`)
  if (!found)
    console.log(`- ${file} is left out: give --${file.startsWith('torch') ? 'torch' : 'paddle'} PYTHON and --peers DIR`)
  return found ? { python, script: `${options.peers}/${file}` } : undefined
}

const rows = Number(options.rows)
const figures = {
  ...(wanted.has('speed') && {
    speed: await measureSpeed({
      rounds: Number(options.rounds),
      slot: await criteoLike(rows, 'slot', 1),
      multislot: await criteoLike(rows, 'multislot', 1),
      torch: peer(options.torch, 'torch_dnn.py'),
      paddle: peer(options.paddle, 'paddle_dnn.py'),
      onnxPython: options.torch,
    }),
  }),
  ...(wanted.has('reader') && {
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
  ...(wanted.has('table') && {
    table: [
      ...(await script('table.ts', [1_000_000, 'skewed'])),
      ...(await script('table.ts', [1_000_000, 'uniform'])),
      ...(await script('table.ts', [options['table-rows'], 'skewed'])),
      ...(await script('table.ts', [options['table-rows'], 'uniform'])),
    ],
  }),
  ...(wanted.has('fluid') && { fluid: await script('fluid.ts', ['--rows', options.rows, '--rounds', options.rounds]) }),
  ...(wanted.has('ps') && { ps: await script('ps.ts', psArguments()) }),
  ...(wanted.has('paddle-files') && {
    paddleFiles: await script('paddle-files.ts', [
      options['paddle-rows'],
      ...(options.paddle === undefined ? [] : [options.paddle]),
    ]),
  }),
  ...(wanted.has('collective') && { collective: await script('collective.ts', [options.rounds]) }),
  ...(wanted.has('dp') && { dataParallel: await script('data-parallel.ts', [options.rows, options.rounds]) }),
  ...(wanted.has('serve') && { serve: await script('serve.ts', [10, 1]) }),
  ...(wanted.has('accuracy') && { accuracy: await measureAccuracy(rows, peer(options.torch, 'torch_auc.py')) }),
}

function psArguments(): string[] {
  const found = peer(options.paddle, 'paddle_dnn.py')
  const beside = found ? ['--paddle', found.python, '--script', found.script] : []
  return ['--rows', options.rows, '--rounds', options.rounds, ...beside]
}

const text = report(figures)
console.log(`\n${text}`)
if (options['write-docs']) writeDocs(figures)
