/**
 * @file What cuts take of a job with a large table: `cuts.ts [ROWS] [INTERVAL] [SECONDS]`. The dnn on two servers and two workers, over ids that all
 * come again and again, so that a cut a minute holds every row; once the table is full, what cuts took is set against the processor time of the job.
 * `cuts.ts save ROWS`: a save of all rows by four servers, each its own, and through worker 0.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event } from '../src/base/event/index.ts'
import { wideData } from './dataset.ts'
import { CONFIG } from './ps-job.ts'
import { at, scratch } from './tools.ts'

const SLOTS = 26
const BATCH = 512
const isSave = process.argv[2] === 'save'
const rows = Number(process.argv[isSave ? 3 : 2] ?? 10_000_000)
const interval = process.argv[3] ?? '60s'
const seconds = Number(process.argv[4] ?? 200)

/** Every id once in a file, which an epoch reads `times` times. */
function dataOf(times: number): string {
  const folder = scratch(`ids-${rows}-${times}`)
  if (existsSync(join(folder, `part-${times - 1}`))) return folder
  mkdirSync(folder, { recursive: true })
  const dense = Array.from({ length: 13 }, (_, d) => `dense_feature:${d / 13}`).join(' ')
  const line = (i: number) => {
    const slots = Array.from({ length: SLOTS }, (_, slot) => `${slot + 1}:${(i * SLOTS + slot) % rows}`)
    return `click:${i % 4 === 0 ? 1 : 0} ${dense} ${slots.join(' ')}\n`
  }
  const file = join(folder, 'part-0')
  const count = Math.ceil(rows / SLOTS)
  writeFileSync(file, '')
  for (let i = 0; i < count; i += 10_000)
    writeFileSync(file, Array.from({ length: Math.min(10_000, count - i) }, (_, k) => line(i + k)).join(''), {
      flag: 'a',
    })
  for (let part = 1; part < times; part++) symlinkSync(file, join(folder, `part-${part}`))
  return folder
}

/** Runs the job until `until` says so; every event of it is seen. */
async function job(
  words: readonly string[],
  keys: readonly string[],
  until: (event: Event, out: string) => boolean,
  env = {},
) {
  const out = mkdtempSync(scratch('cuts-'))
  const overrides = [
    ...[`hyper_parameters.sparse_feature_number=${rows + 1}`, `runner.model_save_path=${out}/model`],
    ...['runner.sync_mode=async', 'runner.print_interval=1', `runner.train_batch_size=${BATCH}`, ...keys],
  ]
  const launcher = spawn(
    process.execPath,
    [
      at('bin', 'fleetrun.js'),
      ...words,
      '--json',
      `--log_dir=${out}/log`,
      'tools/static_ps_trainer.py',
      '-m',
      CONFIG,
      '--json',
      '-o',
      ...overrides,
    ],
    { cwd: out, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } },
  )
  const ended = new Promise<void>((resolve) => launcher.on('close', () => resolve()))
  for await (const line of createInterface({ input: launcher.stdout })) {
    if (!line.startsWith('{')) continue
    const event = JSON.parse(line) as Event
    if (event.kind === 'error') console.error(event.message, event.hint)
    const told = event.kind === 'output' && event.line.startsWith('{') ? (JSON.parse(event.line) as Event) : event
    if (until(told, out)) break
  }
  launcher.kill('SIGKILL')
  await ended
  await removed(out)
}

/** Processes of a launcher that was killed may write until they notice. */
async function removed(folder: string): Promise<void> {
  for (let tries = 50; ; tries--) {
    try {
      return rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      if (tries === 0) throw error
      await sleep(200)
    }
  }
}

const cpuSeconds = (pids: Iterable<number>) =>
  [...pids].reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return sum + (Number(fields[11]) + Number(fields[12])) / 100
  }, 0)

async function costs(): Promise<void> {
  const pids = new Set<number>()
  const cuts: { readonly pause: number; readonly work: number; readonly bytes: number }[] = []
  let [trained, begunAt, cpu, used] = [0, 0, 0, 0]
  const full = (2 * rows) / SLOTS / BATCH / 2
  await job(
    ['--server_num=2', '--worker_num=2'],
    [
      `runner.train_data_dir=${dataOf(60)}`,
      'runner.epochs=1',
      `runner.snapshot_interval=${interval}`,
      `runner.test_data_dir=${wideData(1000)}`,
    ],
    (event) => {
      if (event.kind === 'process' && event.state === 'running') pids.add(event.pid)
      if (event.kind === 'batch' && ++trained > full && begunAt === 0) {
        begunAt = performance.now()
        cpu = cpuSeconds(pids)
      }
      if (event.kind === 'saved' && begunAt > 0)
        cuts.push({ pause: event.pauseSeconds ?? 0, work: event.workSeconds ?? 0, bytes: event.bytes ?? 0 })
      if (begunAt === 0 || performance.now() - begunAt < 1000 * seconds) return false
      used = cpuSeconds(pids) - cpu
      return true
    },
  )
  const mean = (of: (cut: (typeof cuts)[number]) => number) => cuts.reduce((sum, cut) => sum + of(cut), 0) / cuts.length
  const took = (performance.now() - begunAt) / 1000
  console.log(
    JSON.stringify({
      ...{ rows, interval, seconds: Math.round(took), cuts: cuts.length, jobCpuSeconds: Math.round(used) },
      ...{ workSeconds: mean(({ work }) => work), pauseSeconds: mean(({ pause }) => pause) },
      megabytes: Math.round(mean(({ bytes }) => bytes) / 1e6),
      shareOfProcessorTime: (mean(({ work }) => work) * cuts.length) / used,
    }),
  )
}

/** Loaded by servers that must not see worker 0's folder. */
const BLIND = `data:text/javascript,import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; if (process.env.TRAINING_ROLE === 'PSERVER') { fs.promises.access = async () => { throw new Error('elsewhere') }; syncBuiltinESMExports() }`

async function saves(): Promise<void> {
  for (const way of ['each its own', 'through worker 0']) {
    const saved: Extract<Event, { kind: 'saved' }>[] = []
    await job(
      ['--server_num=4', '--worker_num=1'],
      [
        `runner.train_data_dir=${dataOf(1)}`,
        'runner.epochs=1',
        'runner.snapshot_interval=0',
        `runner.test_data_dir=${wideData(1000)}`,
      ],
      (event) => {
        if (event.kind === 'saved') saved.push(event)
        return saved.length > 0
      },
      way === 'each its own' ? {} : { NODE_OPTIONS: `--import=${encodeURI(BLIND)}` },
    )
    const { bytes = 0, seconds: took = 0 } = saved[0]!
    console.log(
      JSON.stringify({
        way,
        rows,
        megabytes: Math.round(bytes / 1e6),
        seconds: took,
        megabytesPerSecond: Math.round(bytes / 1e6 / took),
      }),
    )
  }
}

await (isSave ? saves() : costs())
