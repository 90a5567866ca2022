/** @file How long a job with parameter servers takes to its first step, and to end after its last. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { criteoLike } from './dataset.ts'
import { CONFIG } from './ps-job.ts'
import { at, scratch } from './tools.ts'

const LOOK_EVERY_MS = 10
const DEADLINE_MS = 120_000

/** Watches the worker's log, as a user would. */
export async function fleetrunTimes(rows: number) {
  const data = await criteoLike(rows, 'slot', 1)
  const logs = mkdtempSync(scratch('fleetrun-'))
  const overrides = [
    `runner.train_data_dir=${data}/train`,
    `runner.test_data_dir=${data}/test`,
    'runner.sync_mode=async',
    'runner.epochs=1',
    'runner.print_interval=1',
    'runner.model_save_path=',
  ]
  const started = performance.now()
  const child = spawn(
    process.execPath,
    [
      ...[at('bin', 'fleetrun.js'), '--worker_num=1', '--server_num=1', `--log_dir=${logs}`],
      ...['tools/static_ps_trainer.py', '-m', CONFIG, '-o', ...overrides],
    ],
    { stdio: 'ignore', cwd: logs }, // where trainers write what Paddle's write
  )
  const ended = new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  let running = true
  void ended.finally(() => {
    running = false
  })
  const log = join(logs, 'workerlog.0')
  let [firstStep, lastStep, known] = [0, 0, 0]
  while (running && performance.now() - started < DEADLINE_MS) {
    await sleep(LOOK_EVERY_MS)
    const lines = existsSync(log) ? stepLines(readFileSync(log, 'utf8')) : 0
    if (lines === known) continue
    firstStep ||= performance.now()
    lastStep = performance.now()
    known = lines
  }
  const code = await ended
  if (code !== 0 || known === 0) throw new Error(`fleetrun ended with ${code} after ${known} steps; see ${logs}`)
  rmSync(logs, { recursive: true })
  const seconds = (from: number, to: number) => (to - from) / 1000
  return {
    firstStepSeconds: seconds(started, firstStep),
    exitAfterLastStepSeconds: seconds(lastStep, performance.now()),
  }
}

/** Steps of training and of evaluation. */
function stepLines(text: string): number {
  return text.split('\n').filter((line) => line.includes('batch_id')).length
}
