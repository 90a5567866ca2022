/** @file Training speed end to end, the limit, and the peers, in interleaved rounds so that a slow spell hits all alike. */
import { at, type Json, jsonLines, median, scratch, script } from './tools.ts'

export interface Peer {
  readonly python: string
  readonly script: string
}

export interface SpeedOptions {
  readonly rounds: number
  /** Data sets with the same rows. */
  readonly slot: string
  readonly multislot: string
  readonly torch: Peer | undefined
  readonly paddle: Peer | undefined
  /** A Python with onnxruntime, for the limit. */
  readonly onnxPython: string | undefined
}

export interface SpeedFigure {
  readonly name: string
  readonly threads: number
  /** Median over the rounds. */
  readonly samplesPerSecond: number
  readonly rounds: readonly number[]
  /** Seconds per part of a step, of the median round. */
  readonly breakdown?: Readonly<Record<string, number>>
  readonly samples?: number
  readonly startupSeconds?: number
}

const BATCH = 512
const LIMIT_SECONDS = 6

export async function measureSpeed({
  rounds,
  slot,
  multislot,
  torch,
  paddle,
  onnxPython,
}: SpeedOptions): Promise<SpeedFigure[]> {
  const graph = scratch('step.onnx')
  await script('step-graph.ts', [graph])
  const runs: { name: string; threads: number; run: () => Promise<Run> }[] = [
    ...[1, 2].map((threads) => ({ name: 'oarfish, slot text', threads, run: () => oarfish(slot, threads) })),
    ...[1, 2].map((threads) => ({
      name: 'oarfish, slot text, --mode dygraph',
      threads,
      run: () => oarfish(slot, threads, 'dygraph'),
    })),
    { name: 'oarfish, MultiSlot text', threads: 2, run: () => oarfish(multislot, 2) },
    ...[1, 2].map((threads) => ({ name: 'limit: the step graph alone', threads, run: () => limit(graph, threads) })),
  ]
  if (onnxPython)
    runs.push({
      name: "limit: the same graph, Python's onnxruntime",
      threads: 1,
      run: () => pythonLimit(onnxPython, graph),
    })
  if (torch)
    for (const threads of [1, 2])
      runs.push({ name: 'PyTorch, batches in memory, no reader', threads, run: () => torchRun(torch, threads) })
  if (paddle)
    for (const threads of [1, 2])
      runs.push({ name: 'PaddlePaddle 2.6.2, QueueDataset', threads, run: () => paddleRun(paddle, multislot, threads) })
  const results = runs.map(() => [] as Run[])
  for (let round = 0; round < rounds; round++) {
    for (const [i, { name, threads, run }] of runs.entries()) {
      const result = await run()
      results[i]!.push(result)
      console.log(`  round ${round + 1}: ${name}, ${threads} threads: ${Math.round(result.samplesPerSecond)} samples/s`)
    }
  }
  return runs.map(({ name, threads }, i) => figure(name, threads, results[i]!))
}

interface Run {
  readonly samplesPerSecond: number
  readonly samples?: number
  readonly breakdown?: Readonly<Record<string, number>>
  readonly startupSeconds?: number
}

function figure(name: string, threads: number, runs: readonly Run[]): SpeedFigure {
  const rates = runs.map(({ samplesPerSecond }) => samplesPerSecond)
  const middle = median(rates)
  const nearest = runs.reduce((a, b) =>
    Math.abs(a.samplesPerSecond - middle) <= Math.abs(b.samplesPerSecond - middle) ? a : b,
  )
  return { ...nearest, name, threads, samplesPerSecond: middle, rounds: rates }
}

async function oarfish(dataset: string, threads: number, mode = 'static'): Promise<Run> {
  const overrides = [
    `runner.train_data_dir=${dataset}/train`,
    `runner.test_data_dir=${dataset}/test`,
    `runner.thread_num=${threads}`,
    'runner.epochs=1',
    'runner.model_save_path=',
  ]
  const events = await jsonLines(process.execPath, [
    at('bin', 'oarfish.js'),
    'train',
    '-m',
    at('models', 'rank', 'dnn', 'config_bigdata.yaml'),
    '--mode',
    mode,
    '-o',
    ...overrides,
    '--json',
  ])
  const done = events.at(-1) as unknown as Run & { breakdown: Record<string, number> }
  const ready = events.find(({ kind }) => kind === 'ready') as unknown as { startupSeconds: number }
  return { ...done, startupSeconds: ready.startupSeconds }
}

const rateOf = (lines: readonly Json[]): Run => ({ samplesPerSecond: Number(lines.at(-1)!['samples_per_s']) })

const limit = async (graph: string, threads: number) =>
  rateOf(
    await jsonLines(process.execPath, [
      at('bench', 'limit.mjs'),
      graph,
      String(threads),
      String(LIMIT_SECONDS),
      String(BATCH),
    ]),
  )

const pythonLimit = async (python: string, graph: string) =>
  rateOf(await jsonLines(python, [at('bench', 'limit.py'), graph, String(LIMIT_SECONDS), String(BATCH)]))

const torchRun = async ({ python, script: file }: Peer, threads: number) =>
  rateOf(await jsonLines(python, [file, String(threads), String(BATCH), '600']))

const paddleRun = async ({ python, script: file }: Peer, dataset: string, threads: number) =>
  // It writes a description of its trainer into the working folder.
  rateOf(await jsonLines(python, [file, `${dataset}/train`, String(threads), String(BATCH)], {}, scratch()))
