/** @file Accuracy beside PyTorch: train and test AUC after one pass over the same files, three seeds. */
import { criteoLike, hiddenAuc } from './dataset.ts'
import type { Peer } from './speed.ts'
import { at, jsonLines } from './tools.ts'

export interface AccuracyFigure {
  readonly name: string
  readonly threads: number
  readonly train: readonly number[]
  readonly test: readonly number[]
}

export interface Accuracy {
  readonly rows: number
  readonly hiddenAuc: number
  readonly figures: readonly AccuracyFigure[]
}

const SEEDS = [1, 2, 3]

export async function measureAccuracy(rows: number, torch: Peer | undefined): Promise<Accuracy> {
  const dataset = await criteoLike(rows, 'multislot', 1)
  const figures: AccuracyFigure[] = []
  const measure = async (
    name: string,
    threads: number,
    run: (seed: number) => Promise<{ train: number; test: number }>,
  ) => {
    const results = []
    for (const seed of SEEDS) {
      const result = await run(seed)
      results.push(result)
      console.log(
        `  ${name}, ${threads} threads, seed ${seed}: train AUC ${result.train.toFixed(5)}, test AUC ${result.test.toFixed(5)}`,
      )
    }
    figures.push({ name, threads, train: results.map(({ train }) => train), test: results.map(({ test }) => test) })
  }
  if (torch) await measure('PyTorch', 2, (seed) => torchAuc(torch, dataset, seed))
  for (const threads of [1, 2]) await measure('oarfish', threads, (seed) => oarfishAuc(dataset, threads, seed))
  return { rows, hiddenAuc: hiddenAuc(dataset), figures }
}

async function oarfishAuc(dataset: string, threads: number, seed: number): Promise<{ train: number; test: number }> {
  const overrides = [
    `train_data_dir=${dataset}/train`,
    `test_data_dir=${dataset}/test`,
    `thread_num=${threads}`,
    `seed=${seed}`,
    'epochs=1',
    'model_save_path=',
  ].map((item) => `runner.${item}`)
  const lines = await jsonLines(process.execPath, [
    at('bin', 'oarfish.js'),
    'train',
    '-m',
    at('models', 'rank', 'dnn', 'config_bigdata.yaml'),
    '-o',
    ...overrides,
    '--json',
  ])
  const { metrics, evaluation } = lines.at(-1) as unknown as Record<'metrics' | 'evaluation', { auc: number }>
  return { train: metrics.auc, test: evaluation.auc }
}

async function torchAuc(
  { python, script }: Peer,
  dataset: string,
  seed: number,
): Promise<{ train: number; test: number }> {
  const lines = await jsonLines(python, [script, `${dataset}/train`, `${dataset}/test`, '512', String(seed)])
  const { train_auc, test_auc } = lines.at(-1) as unknown as { train_auc: number; test_auc: number }
  return { train: train_auc, test: test_auc }
}
