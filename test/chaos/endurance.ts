/**
 * @file `npm run chaos -- --endurance [--minutes 20 --every 10 --mode async]`: one job of fleetrun that makes a cut every two seconds and loses a process, each in
 * turn, every ten. Every epoch that it saves must count each of its samples once; prints what memory did: of the launcher, which lives all the time, of
 * the others at the same age, and what lies in shared memory and in temporary files.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Event } from '../../src/base/event/index.ts'
import { makeCountingFolder } from './counting.ts'
import { countsOf } from './saved.ts'
import { isCut, isRestart, namesIn, Timeline } from './timeline.ts'

const MODE_KEYS: Readonly<Record<string, readonly string[]>> = {
  async: ['sync_mode=async'],
  sync: ['sync_mode=sync'],
  geo: ['sync_mode=geo', 'geo_step=20'],
}

const { values } = parseArgs({
  options: {
    endurance: { type: 'boolean' },
    minutes: { type: 'string', default: '20' },
    every: { type: 'string', default: '10' },
    mode: { type: 'string', default: 'async' },
    samples: { type: 'string', default: '120000' },
    cache: { type: 'string' },
  },
})
const [minutes, every, samples] = [Number(values.minutes), Number(values.every), Number(values.samples)]

/** Megabytes of everything at one moment, `age` seconds after the job last began to train. */
interface Memory {
  readonly minute: number
  readonly launcher: number
  readonly processes: number
  readonly shared: number
  readonly temporary: number
}

const CLOSE = 1e-3
/** Processes are looked at this long after they train again: rows grow with their age, not with the number of kills. */
const AGE_MS = 5000

async function main(): Promise<number> {
  const keys = MODE_KEYS[values.mode]
  if (!keys || !(minutes > 0) || !(every > 0) || samples % 6 !== 0) {
    console.error('--mode async, sync or geo; --minutes and --every above 0; --samples divided by 6')
    return 2
  }
  const root = mkdtempSync(join(tmpdir(), 'oarfish-endurance-'))
  try {
    return await endure(root, keys)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function endure(root: string, keys: readonly string[]): Promise<number> {
  const [job, temporary, saves] = [join(root, 'job'), join(root, 'tmp'), join(root, 'saved')]
  makeCountingFolder(job, { samples, epochs: 1_000_000 })
  mkdirSync(temporary)
  const runner = [
    ...keys,
    `model_save_path=${saves}`,
    'snapshot_interval=2s',
    'keep_checkpoints=3',
    'print_interval=40',
  ]
  const launcher = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('../../bin/fleetrun.js', import.meta.url)),
      ...['--json', '--log_dir', join(root, 'log'), '--server_num=2', '--worker_num=2'],
      ...['tools/static_ps_trainer.py', '-m', 'config.yaml', '--json'],
      ...['-o', ...runner.map((key) => `runner.${key}`)],
    ],
    { cwd: job, env: { ...process.env, TMPDIR: temporary }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const watch = new Watch(launcher.pid!, { saves, temporary })
  const over = setTimeout(() => launcher.kill('SIGTERM'), 60_000 * minutes)
  createInterface({ input: launcher.stdout }).on('line', (line) => watch.read(line))
  const timer = setInterval(() => watch.look(), 100)
  const code = await new Promise<number | null>((resolve) => launcher.on('close', resolve))
  clearTimeout(over)
  clearInterval(timer)
  return watch.conclude(code)
}

/** What the job says, what is done to it, and what is found. */
class Watch {
  readonly #launcher: number
  readonly #places: { readonly saves: string; readonly temporary: string }
  readonly #timeline = new Timeline()
  readonly #began = Date.now()
  readonly #memory: Memory[] = []
  readonly #problems: string[] = []
  readonly #recoveries: number[] = []
  #epochs = 0
  #killedAt = this.#began
  #isRecovering = false
  #isAgain = true
  #trainingSince = 0
  #cuts = 0
  #isLooked = false

  constructor(launcher: number, places: { readonly saves: string; readonly temporary: string }) {
    this.#launcher = launcher
    this.#places = places
  }

  read(line: string): void {
    const { told } = this.#timeline
    this.#timeline.read(line)
    for (const { event } of told.splice(0)) this.#see(event)
  }

  #see(event: Event): void {
    if (isRestart(event)) this.#isAgain = true
    if (event.kind === 'saved' && isCut(event)) this.#cuts++
    if (event.kind === 'saved' && /^\d+$/.test(event.path.split('/').at(-1)!)) this.#check(event.epoch)
    if (event.kind !== 'batch' || !this.#isAgain || this.#trainingSince > 0) return
    this.#trainingSince = Date.now()
    if (this.#isRecovering) this.#recoveries.push((Date.now() - this.#killedAt) / 1000)
    this.#isRecovering = false
  }

  /** Every sample of an epoch that is saved was trained once in each epoch up to it. */
  #check(epoch: number): void {
    this.#epochs++
    const counts = [...countsOf(join(this.#places.saves, String(epoch)))]
    const wrong = counts.filter(([, times]) => Math.abs(times - (epoch + 1)) > CLOSE)
    if (counts.length !== samples) this.#problems.push(`epoch ${epoch}: ${counts.length} samples of ${samples}`)
    const [first] = wrong
    if (first)
      this.#problems.push(
        `epoch ${epoch}: ${wrong.length} samples were not trained once an epoch: ${first[0]}, ${first[1]} times`,
      )
  }

  /** Kills the next one when it is time, and trains with a new cut; looks at memory once between two kills. */
  look(): void {
    if (this.#trainingSince === 0) return
    const now = Date.now()
    if (!this.#isLooked && now - this.#trainingSince > AGE_MS) {
      this.#isLooked = true
      this.#memory.push(this.#measure())
    }
    if (!this.#isLooked || this.#cuts === 0 || now - this.#killedAt < 1000 * every) return
    const alive = [...this.#timeline.running.values()]
    const pid = alive[this.#recoveries.length % alive.length]!
    this.#killedAt = now
    ;[this.#trainingSince, this.#cuts, this.#isLooked] = [0, 0, false]
    ;[this.#isAgain, this.#isRecovering] = [false, true]
    process.kill(pid, 'SIGKILL')
  }

  #measure(): Memory {
    const processes = [...this.#timeline.running.values()].reduce((sum, pid) => sum + proportional(pid), 0)
    return {
      minute: (Date.now() - this.#began) / 60_000,
      launcher: proportional(this.#launcher),
      processes,
      shared: bytesIn('/dev/shm') / 1e6,
      temporary: bytesIn(this.#places.temporary) / 1e6,
    }
  }

  conclude(code: number | null): number {
    const sorted = this.#recoveries.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]?.toFixed(2)
    console.log(
      `${minutes} minutes of ${values.mode}, a kill every ${every} s: ${sorted.length} kills, ${this.#epochs} epochs of ${samples} samples saved and counted`,
    )
    console.log(`from a kill to training again: p50 ${at(0.5)} s, p99 ${at(0.99)} s, most ${at(1)} s`)
    for (const name of ['launcher', 'processes', 'shared', 'temporary'] as const) {
      const points = this.#memory.map((one) => [one.minute, one[name]] as const)
      const [first, last] = [points[0], points.at(-1)]
      console.log(
        `${name}: ${first?.[1].toFixed(1)} MB at first, ${last?.[1].toFixed(1)} MB at last, ${slope(points).toFixed(2)} MB a minute (${points.length} points)`,
      )
    }
    // It was asked to stop: SIGTERM of a launcher saves and ends with 143.
    if (code !== 143 && code !== 0) this.#problems.push(`the job ended with ${code}`)
    if (this.#epochs === 0) this.#problems.push('no epoch was saved')
    for (const problem of this.#problems) console.log(`x ${problem}`)
    return this.#problems.length > 0 ? 1 : 0
  }
}

/** By least squares. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x0, y0] = [mean(([x]) => x), mean(([, y]) => y)]
  return mean(([x, y]) => (x - x0) * (y - y0)) / mean(([x]) => (x - x0) ** 2)
}

/** Megabytes; of what several processes share each has its part. 0 when it is gone. */
function proportional(pid: number): number {
  try {
    return Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1000
  } catch {
    return 0
  }
}

function bytesIn(folder: string): number {
  return namesIn(folder).reduce((sum, name) => {
    try {
      const path = join(folder, name)
      const stats = statSync(path)
      return sum + (stats.isDirectory() ? bytesIn(path) : stats.size)
    } catch {
      return sum
    }
  }, 0)
}

process.exitCode = await main()
