/**
 * @file What days and passes cost beside training: what a pass takes that neither trains, judges nor reads, with its delta and checkpoint; and how long a pass waits for data that were
 * prefetched, beside reading them alone.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { loadConfig } from '../src/base/config/index.ts'
import { generateDemoDays } from '../src/data/index.ts'
import { alone } from '../src/training/driver/index.ts'
import { trainOnline } from '../src/training/online/index.ts'
import { at, median, scratch } from './tools.ts'

const PASSES = 8
const SAMPLES = 3000
const MOST_OVERHEAD_SECONDS = 0.5
const MOST_WAIT = 0.1

interface Pass {
  readonly began: number
  readonly ended: number
  /** Waiting for the reader. */
  readonly readSeconds: number
}

export async function measurePassesOfDays(): Promise<boolean> {
  const root = scratch('days')
  rmSync(root, { recursive: true, force: true })
  const days = { start: '20190720', days: 1, splitInterval: 1440 / PASSES }
  generateDemoDays({ out: join(root, 'data'), ...days, rows: SAMPLES, slots: 300 })
  const ahead = await run(root, 'ahead', true)
  const inTurn = await run(root, 'in-turn', false)
  // The last pass ends a day: what is between two passes of a day is looked at.
  const between = ahead.slice(1).map(({ began }, i) => (began - ahead[i]!.ended) / 1000)
  const reading = median(inTurn.slice(1).map(({ readSeconds }) => readSeconds))
  const training = median(ahead.map(({ began, ended, readSeconds }) => (ended - began) / 1000 - readSeconds))
  const waits = ahead.slice(1).map(({ readSeconds }) => readSeconds)
  const [overhead, wait] = [median(between), median(waits) / reading]
  console.log(`\n# ${PASSES} passes of ${SAMPLES} samples of 300 slots\n`)
  console.log(`a pass beside training and reading: ${overhead.toFixed(3)} s, most ${Math.max(...between).toFixed(3)} s, with its delta and checkpoint (at most ${MOST_OVERHEAD_SECONDS})`) // biome-ignore format: one line
  console.log(`reading alone ${reading.toFixed(3)} s, training ${training.toFixed(3)} s, waiting for what was prefetched ${median(waits).toFixed(4)} s: ${(100 * wait).toFixed(1)} % (at most ${100 * MOST_WAIT} %)`) // biome-ignore format: one line
  return overhead <= MOST_OVERHEAD_SECONDS && wait <= MOST_WAIT
}

async function run(root: string, name: string, prefetch: boolean): Promise<readonly Pass[]> {
  const config = loadConfig({
    path: at('models', 'rank', 'slot_dnn', 'config_online.yaml'),
    cwd: root,
    overrides: [
      ...[`runner.train_data_dir=${join(root, 'data')}`, `runner.model_save_path=${join(root, name)}`],
      ...['runner.end_day=20190720', `runner.split_interval=${1440 / PASSES}`, 'runner.split_per_pass=1'],
      ...['runner.evaluate=none', 'runner.thread_num=1', 'runner.train_thread_num=1', `runner.prefetch=${prefetch}`],
      'runner.reader_type=InmemoryDataset',
    ],
  })
  const passes: Pass[] = []
  await trainOnline({ config, emit: () => undefined }, (context) => {
    const job = alone(context)
    const pass = job.pass.bind(job)
    job.pass = async (...args) => {
      const began = performance.now()
      const result = await pass(...args)
      passes.push({ began, ended: performance.now(), readSeconds: result.readerSeconds })
      return result
    }
    return job
  })
  return passes
}
