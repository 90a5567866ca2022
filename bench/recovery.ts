/**
 * @file From the kill of a process to the next step of the job: `recovery.ts [KILLS] [ROWS] [fleetrun | launch]`. The dnn with tables of ROWS
 * rows, two servers and two workers (or two ranks); ten seconds after it trains again, once there is a new cut, one process, each in turn, is killed.
 * Prints percentiles in seconds.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Event } from '../src/base/event/index.ts'
import { wideData } from './dataset.ts'
import { CONFIG } from './ps-job.ts'
import { at, scratch } from './tools.ts'

const [kills, rows] = [Number(process.argv[2] ?? 20), Number(process.argv[3] ?? 1_000_000)]
const way = process.argv[4] ?? 'fleetrun'

const out = mkdtempSync(scratch('recovery-'))
const overrides = [
  `runner.train_data_dir=${wideData(rows)}`,
  `runner.test_data_dir=${wideData(1000)}`,
  `runner.model_save_path=${out}/model`,
  ...['runner.epochs=100000', 'runner.print_interval=1', 'runner.snapshot_interval=2s'],
  ...(way === 'launch' ? ['runner.use_fleet=True'] : ['runner.sync_mode=async']),
]
const WAYS: Readonly<Record<string, readonly string[]>> = {
  fleetrun: [at('bin', 'fleetrun.js'), '--server_num=2', '--worker_num=2'],
  launch: [at('bin', 'fleetrun.js'), '--run_mode=collective', '--nproc_per_node=2'],
}
const script = way === 'launch' ? 'tools/trainer.py' : 'tools/static_ps_trainer.py'
const launcher = spawn(
  process.execPath,
  [...WAYS[way]!, '--json', `--log_dir=${out}/log`, script, '-m', CONFIG, '--json', '-o', ...overrides],
  { cwd: out, stdio: ['ignore', 'pipe', 'inherit'] },
)
const ended = new Promise<void>((resolve) => launcher.on('close', () => resolve()))

const alive = new Map<string, number>()
const seconds: number[] = []
const cuts: { readonly pause: number; readonly work: number; readonly bytes: number }[] = []
const EVERY_MS = 10_000
/** Batches of worker 0 after which the table has all its rows, so that every recovery loads them. */
const FULL = (2 * rows) / 26 / 512
let [killedAt, trained, trainingSince, cutSince, turn] = [0, 0, 0, 0, 0]
/** The launcher has noticed: steps from here on are of the next start. */
let isStarted = false

for await (const line of createInterface({ input: launcher.stdout })) {
  if (!line.startsWith('{')) continue
  see(JSON.parse(line) as Event)
  if (seconds.length >= kills) break
}
launcher.kill('SIGKILL')
await ended
const sorted = seconds.toSorted((a, b) => a - b)
const percentile = (share: number) =>
  Number(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(2))
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1)
console.log(
  JSON.stringify({
    ...{ way, rows, kills: seconds.length },
    killToTraining: { p50: percentile(0.5), p99: percentile(0.99), most: percentile(1) },
    cuts: cuts.length,
    pauseSeconds: Number(mean(cuts.map(({ pause }) => pause)).toFixed(3)),
    workSeconds: Number(mean(cuts.map(({ work }) => work)).toFixed(3)),
    megabytes: Number((mean(cuts.map(({ bytes }) => bytes)) / 1e6).toFixed(1)),
  }),
)
// What the launcher had started ends after it.
rmSync(out, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })

function see(event: Event): void {
  if (event.kind === 'process' && event.state === 'running') alive.set(`${event.role} ${event.rank}`, event.pid)
  if (event.kind === 'notice' && event.message.startsWith('Starting again')) isStarted = true
  if (event.kind !== 'output' || !event.line.startsWith('{')) return
  const told = JSON.parse(event.line) as Event
  if (told.kind === 'saved' && told.batch !== undefined) {
    if (killedAt > 0) return
    cuts.push({ pause: told.pauseSeconds ?? 0, work: told.workSeconds ?? 0, bytes: told.bytes ?? 0 })
    cutSince++
  }
  if (told.kind !== 'batch') return
  if (killedAt > 0) {
    if (!isStarted) return
    seconds.push((performance.now() - killedAt) / 1000)
    killedAt = 0
    ;[trainingSince, cutSince] = [0, 0]
  }
  trained++
  trainingSince ||= performance.now()
  if (trained < FULL || cutSince === 0 || performance.now() - trainingSince < EVERY_MS) return
  const [, pid] = [...alive][turn++ % alive.size]!
  killedAt = performance.now()
  isStarted = false
  process.kill(pid, 'SIGKILL')
}
