/**
 * @file What a schedule costs beside training, by real runs of slot_dnn over a day of its demo data: `npm run bench -- --only schedule`. Between two passes, without and with a
 * delta of each; and how long training waits for data that were prefetched, beside how long it waits for the same data without.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { at, jsonLines, median, scratch } from './tools.ts'

const MOST_OVERHEAD_SECONDS = 0.5
const MOST_WAIT = 0.1
/** Lines of a split, of which a pass has two. */
const ROWS = 8000
/** So small that training takes longer than reading. */
const BATCH = 64
/** Passes of 2 hours, so that a day has 12. */
const DAY = ['runner.start_day=20190720', 'runner.end_day=20190720', 'runner.split_interval=60', 'runner.evaluate=none']
const NO_SAVES = ['runner.save_delta_frequency=100', 'runner.checkpoint_per_pass=100']
const DELTAS = ['runner.save_delta_frequency=1', 'runner.checkpoint_per_pass=100']

interface Pass {
  /** From the end of the training before to the beginning of this one. */
  readonly between: number
  readonly training: number
  /** For the first batch: those behind it are in memory by then. */
  readonly waited: number
}

export async function measureSchedule(): Promise<boolean> {
  const root = scratch('schedule')
  rmSync(root, { recursive: true, force: true })
  const data = join(root, 'data')
  const words = [
    'data',
    'days',
    '--out',
    data,
    '--days',
    '1',
    '--split-interval',
    '60',
    '--rows',
    String(ROWS),
    '--json',
  ]
  await jsonLines(process.execPath, [at('bin', 'oarfish.js'), ...words])
  const run = (name: string, more: readonly string[]) =>
    train(root, [`runner.train_data_dir=${data}`, `runner.model_save_path=${join(root, name)}`, ...DAY, ...more])
  const plain = await run('plain', [...NO_SAVES, 'runner.prefetch=True'])
  const alone = await run('alone', [...NO_SAVES, 'runner.prefetch=False'])
  const own = await run('oarfish', [...DELTAS, 'runner.delta_format=oarfish', 'runner.prefetch=True'])
  const both = await run('both', [...DELTAS, 'runner.delta_format=both', 'runner.prefetch=True'])
  const middle = (passes: readonly Pass[], of: keyof Pass) => median(passes.slice(1).map((pass) => pass[of]))
  const most = (passes: readonly Pass[]) => Math.max(...passes.slice(1).map(({ between }) => between))
  const ms = (seconds: number) => `${(1000 * seconds).toFixed(0)} ms`
  console.log(`\n# passes of ${2 * ROWS} samples, ${plain.length} of them, the first left out\n`)
  console.log(`training of a pass ${ms(middle(plain, 'training'))}`)
  for (const [name, passes] of Object.entries({ 'no deltas': plain, "deltas in Oarfish's form": own, 'deltas in both forms': both }))
    console.log(`between two passes, ${name}: ${ms(middle(passes, 'between'))}, at most ${ms(most(passes))} (at most ${ms(MOST_OVERHEAD_SECONDS)})`) // biome-ignore format: one line
  const [waits, reads] = [middle(plain, 'waited'), middle(alone, 'waited')]
  console.log(`waits for data of a pass: ${ms(waits)} prefetched, ${ms(reads)} not: ${((100 * waits) / reads).toFixed(1)} % (at most ${100 * MOST_WAIT} %)`) // biome-ignore format: one line
  return middle(plain, 'between') <= MOST_OVERHEAD_SECONDS && waits <= MOST_WAIT * reads
}

/** The passes of a run as its events tell of them. */
async function train(root: string, overrides: readonly string[]): Promise<readonly Pass[]> {
  const config = at('models', 'rank', 'slot_dnn', 'config_online.yaml')
  const words = ['runner.print_interval=1', `runner.train_batch_size=${BATCH}`, ...overrides]
  const child = spawn(process.execPath, [at('bin', 'oarfish.js'), 'train', '--json', '-m', config, '-o', ...words], { cwd: root }) // biome-ignore format: one line
  const passes: Pass[] = []
  let [ended, begun, waited, last] = [performance.now(), 0, 0, '']
  createInterface(child.stderr).on('line', (line) => (last = line))
  createInterface(child.stdout).on('line', (line) => {
    const event = JSON.parse(line) as { kind: string; batch?: number; readerSecondsPerBatch?: number; seconds?: number }
    if (event.kind === 'epochStart') [begun, waited] = [performance.now(), 0]
    else if (event.kind === 'batch' && event.batch === 0) waited = event.readerSecondsPerBatch!
    else if (event.kind === 'epoch') {
      passes.push({ between: (begun - ended) / 1000, training: event.seconds!, waited })
      ended = performance.now()
    }
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`training ended with ${code}: ${last}`)
  return passes
}
