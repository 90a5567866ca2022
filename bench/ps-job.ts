/** @file Whole jobs with parameter servers: how fast they train, beside Paddle's, and how well. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startJob } from '../test/ps/job.testing.ts'
import { criteoLike } from './dataset.ts'
import { at, jsonLines, scratch } from './tools.ts'

export interface Layout {
  readonly workers: number
  readonly threads: number
  readonly servers: number
}

export const PS_LAYOUTS = [
  { name: '1 worker x 2 threads, 1 server', workers: 1, threads: 2, servers: 1 },
  { name: '2 workers x 1 thread, 2 servers', workers: 2, threads: 1, servers: 2 },
] as const

export const CONFIG = at('models', 'rank', 'dnn', 'config_bigdata.yaml')

export interface SpeedOptions extends Layout {
  readonly rows: number
  readonly mode: string
  /** Of the data: figures are those of 1, what is chosen is chosen on others. @default 1 */
  readonly dataSeed?: number
  /** Further keys: `runner.geo_step=50`. */
  readonly set?: readonly string[]
}

export async function trainingSpeed(options: SpeedOptions & { readonly seed: number }) {
  const { workers, threads, servers, rows, mode, seed, dataSeed = 1, set = [] } = options
  const data = await criteoLike(rows, 'slot', dataSeed)
  const job = await startJob({
    path: CONFIG,
    workers,
    servers,
    overrides: [
      `runner.train_data_dir=${data}/train`,
      `runner.test_data_dir=${data}/test`,
      `runner.thread_num=${threads}`,
      `runner.sync_mode=${mode}`,
      `runner.seed=${seed}`,
      'runner.epochs=1',
      'runner.print_interval=50',
      'runner.model_save_path=',
      ...set,
    ],
  })
  await job.success()
  const { events } = job.named('worker 0')
  const found = (kind: string) => events.find((event) => event['kind'] === kind) as Record<string, unknown>
  const { samples, samplesPerSecond, metrics, evaluation, breakdown } = found('done')
  return {
    samples,
    metrics,
    evaluation,
    breakdown,
    samplesPerSecond: Number(samplesPerSecond),
    startupSeconds: Number(found('ready')['startupSeconds']),
  }
}

/** Samples a second of all workers of Paddle's job, each timed by itself. */
export async function paddleSpeed(
  options: SpeedOptions & { readonly paddle: string; readonly script: string },
): Promise<number> {
  const { workers, threads, servers, rows, mode, paddle, script } = options
  const data = await criteoLike(rows, 'multislot', 1, 'train')
  // It writes logs and a description of its trainer into the working folder.
  const cwd = mkdtempSync(scratch('paddle-'))
  const layout = [`--worker_num=${workers}`, `--server_num=${servers}`]
  const bin = dirname(paddle)
  const env = { PATH: `${bin}:${process.env['PATH']}`, FLAGS_enable_pir_api: '0' }
  await jsonLines(join(bin, 'fleetrun'), [...layout, script, data, String(threads), '512', mode], env, cwd)
  const rates = Array.from({ length: workers }, (_, worker) => {
    const log = readFileSync(join(cwd, 'log', `workerlog.${worker}`), 'utf8')
    const line = log.split('\n').findLast((text) => text.startsWith('{'))
    if (!line) throw new Error(`Paddle's worker ${worker} printed no result:\n${log.slice(-2000)}`)
    return Number((JSON.parse(line) as { samples_per_s: number }).samples_per_s)
  })
  rmSync(cwd, { recursive: true })
  return rates.reduce((sum, rate) => sum + rate, 0)
}

/** Test AUC by mode over three seeds, beside one process with one thread on the same samples. */
export async function accuracyByMode(
  rows: number,
  modes: readonly string[],
  more: Pick<SpeedOptions, 'dataSeed' | 'set'>,
) {
  const summary = async (mode: string, layout: Layout) => {
    const found: number[] = []
    for (const seed of [1, 2, 3]) {
      const { evaluation } = await trainingSpeed({ ...layout, ...more, rows, mode, seed })
      found.push((evaluation as { auc: number }).auc)
    }
    const mean = found.reduce((sum, value) => sum + value, 0) / found.length
    return { mean, spread: Math.max(...found) - Math.min(...found) }
  }
  // Sync of one worker with one thread is, bit for bit, training in one process.
  const single = await summary('sync', { workers: 1, threads: 1, servers: 1 })
  const measured: Record<string, object> = {}
  for (const mode of modes) {
    const found = await summary(mode, { workers: 2, threads: 1, servers: 2 })
    measured[mode] = { ...found, belowSingle: single.mean - found.mean }
  }
  return { single, ...measured }
}
