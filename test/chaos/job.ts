/** @file The job of a run: its commands, one a host, started and started again by hand; and what of it is still there. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, createWriteStream, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { alive, noneAlive } from '../cluster/launch.testing.ts'
import type { Host } from '../netns/network.testing.ts'
import { type Plan, RINGS, SILENCE_S } from './plan.ts'
import type { Timeline } from './timeline.ts'

const bin = (name: string) => fileURLToPath(new URL(`../../bin/${name}.js`, import.meta.url))
const SLOW_DISK = new URL('./slow-disk.mjs', import.meta.url).href
const SLOW_MS = 40
/** No start of such a job says nothing for so long, on a machine that has much else to do. Counted, so that time in which this process is stopped too does not count. */
const HUNG_S = 240
const PATIENCE_MS = 20_000
/** How long hosts that come and go wait for another before they begin. */
const MEETING_S = 20
/** Ends with 128 + SIGTERM who was asked to leave. */
const LEFT = 143

/** Where a run has its things. */
export interface Place {
  /** Config, model and data, of all runs. */
  readonly folder: string
  /** Of this run alone. */
  readonly own: string
  readonly saves: string
  /** Where there are several. */
  readonly hosts: readonly Host[]
  /** The port at which hosts that come and go meet: all of them are this one. */
  readonly meeting: number
}

/** One start, on all hosts. */
export interface Started {
  readonly launchers: ChildProcess[]
  /** Exit code of each host's launcher, as a shell has it; undefined: it hung, and was killed. */
  readonly codes: Promise<readonly (number | undefined)[]>
}

export class ChaosJob {
  readonly mark = randomUUID()
  readonly launchers: number[] = []
  #ends: Promise<number>[] = []
  /** Launchers that leave for good. */
  readonly #leaves = new Set<ChildProcess>()
  current: Started | undefined
  readonly #plan: Plan
  readonly #place: Place
  readonly #timeline: Timeline

  constructor(plan: Plan, place: Place, timeline: Timeline) {
    this.#plan = plan
    this.#place = place
    this.#timeline = timeline
  }

  start(resume: boolean): Started {
    const { hosts } = this.#place
    const count = this.#isRing && this.#plan.least !== undefined ? this.#plan.workers : 1
    const launchers: ChildProcess[] = []
    this.#ends = []
    this.current = { launchers, codes: this.#codes() }
    if (hosts.length > 0) for (const [i, host] of hosts.entries()) this.#add(this.#launch(resume, i, host))
    else for (let i = 0; i < count; i++) this.#add(this.#launch(resume, i))
    return this.current
  }

  #add(launcher: ChildProcess): void {
    const { launchers } = this.current!
    this.launchers.push(launcher.pid!)
    launchers.push(launcher)
    const code = ended(launcher).then((one) => (this.#leaves.has(launcher) && one === LEFT ? 0 : one))
    this.#ends.push(code)
    void code.then(async (one) => {
      if (one !== 0) await this.#stopOthers(launchers)
    })
  }

  /** Of all launchers, also of those that join. */
  async #codes(): Promise<readonly (number | undefined)[]> {
    let [seconds, told] = [0, 0]
    const timer = setInterval(() => {
      // One that goes on, however slowly, does not hang.
      if (told !== this.#timeline.told.length && seconds < HUNG_S) [seconds, told] = [0, this.#timeline.told.length]
      else if (++seconds === HUNG_S) this.kill()
    }, 1000)
    await Promise.resolve() // until there are some
    const codes: number[] = []
    for (let i = 0; i < this.#ends.length; i++) codes.push(await this.#ends[i]!)
    clearInterval(timer)
    return seconds < HUNG_S ? codes : codes.map(() => undefined)
  }

  /** A host's launcher is asked to stop, and its ranks leave; false: it was gone before. */
  leave(host: number): boolean {
    const launcher = this.current?.launchers[host]
    if (!launcher || launcher.exitCode !== null || launcher.signalCode !== null) return false
    this.#leaves.add(launcher)
    return end(launcher.pid!, 'SIGTERM')
  }

  /** One more worker, or host; false: the job has no room, or is over. */
  async join(): Promise<boolean> {
    const { launchers } = this.current!
    if (this.#isRing) {
      const there = launchers.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      if (there.length === 0 || there.length >= this.#plan.workers) return false
      // As everybody would who may come late: it must not begin anew what the others have ended.
      this.#add(this.#launch(true, launchers.length))
      return true
    }
    // "Try again once it trains."
    for (let tries = 0; tries < 10 && launchers[0]!.exitCode === null; tries++) {
      if ((await this.#ask()) === 0) return true
      await sleep(300)
    }
    return false
  }

  #ask(): Promise<number> {
    const { folder: cwd, own } = this.#place
    const words = [bin('fleetrun'), '--join', '--log_dir', join(own, 'log')]
    return ended(spawn(process.execPath, words, { cwd, env: this.#env(), stdio: 'ignore' }))
  }

  /** As a user does who sees that a host has given up: the others may wait minutes for it to come up. */
  async #stopOthers(launchers: readonly ChildProcess[]): Promise<void> {
    await sleep(PATIENCE_MS)
    for (const { pid, exitCode, signalCode } of launchers)
      if (exitCode === null && signalCode === null) end(pid!, 'SIGTERM')
  }

  #launch(resume: boolean, index: number, host?: Host): ChildProcess {
    const { folder, own } = this.#place
    mkdirSync(join(own, 'tmp'), { recursive: true })
    const noise = openSync(join(own, `stderr-${index}`), 'a')
    const [program, ...words] = this.#words(resume, index)
    const child = (host?.spawn ?? spawn)(process.execPath, [bin(program!), ...words], {
      cwd: folder,
      env: this.#env(),
      stdio: ['ignore', 'pipe', noise],
    })
    closeSync(noise)
    const said = createWriteStream(join(own, `stdout-${index}`), { flags: 'a' })
    createInterface({ input: child.stdout! })
      .on('line', (line) => {
        said.write(`${new Date().toISOString()} ${line}\n`)
        this.#timeline.read(line)
      })
      .on('close', () => said.end())
    return child
  }

  #env(): NodeJS.ProcessEnv {
    const { saves, own } = this.#place
    const outer = Object.entries(process.env).filter(
      ([name]) => !/^(PADDLE|OARFISH|FLAGS|NODE_OPTIONS|VITEST)/.test(name),
    )
    const slow = { NODE_OPTIONS: `--import=${SLOW_DISK}`, CHAOS_SLOW_DISK: `${SLOW_MS}:${saves}` }
    return {
      ...Object.fromEntries(outer),
      ...(this.#plan.disk === 'slow' ? slow : {}),
      TMPDIR: join(own, 'tmp'),
      OARFISH_TEST_MARK: this.mark,
    }
  }

  #words(resume: boolean, index: number): readonly string[] {
    const { mode, threads, interval } = this.#plan
    const runner = {
      model_save_path: this.#place.saves,
      snapshot_interval: interval,
      silence_limit: SILENCE_S,
      thread_num: threads,
      ...MODE_KEYS[mode],
    }
    const overrides = Object.entries(runner).map(([key, value]) => `runner.${key}=${value}`)
    const training = ['-m', 'config.yaml', ...(resume ? ['--resume'] : []), '--json', '-o', ...overrides]
    if (mode === 'one') return ['oarfish', 'train', ...training]
    const isSpread = this.#place.hosts.length > 1 || (this.#isRing && this.#plan.least !== undefined)
    const log = ['--json', '--log_dir', join(this.#place.own, isSpread ? `log-${index}` : 'log')]
    return this.#isRing
      ? ['oarfish', 'launch', ...log, ...this.#ring(), 'tools/static_trainer.py', ...training]
      : ['fleetrun', ...log, ...this.#served(), 'tools/static_ps_trainer.py', ...training]
  }

  get #isRing(): boolean {
    return RINGS.has(this.#plan.mode)
  }

  #ring(): readonly string[] {
    const { hosts } = this.#place
    const { workers, least } = this.#plan
    if (least !== undefined)
      return [
        `--master=127.0.0.1:${this.#place.meeting}`,
        `--nnodes=${least}:${workers}`,
        `--elastic_timeout=${MEETING_S}`,
      ]
    if (hosts.length === 0) return [`--nproc_per_node=${workers}`]
    return [`--ips=${hosts.map(({ address }) => address).join(',')}`, '--nproc_per_node=1', '--start_port=7300']
  }

  #served(): readonly string[] {
    const { servers, workers, least } = this.#plan
    const { hosts } = this.#place
    const size = least === undefined ? workers : `${least}:${workers}`
    if (hosts.length === 0) return [`--server_num=${servers}`, `--worker_num=${size}`]
    const list = (count: number, port: number) =>
      Array.from({ length: count }, (_, i) => `${hosts[i % hosts.length]!.address}:${port + i}`).join(',')
    return [`--servers=${list(servers, 7100)}`, `--workers=${list(workers, 7200)}`]
  }

  /** Process ids of what is still there, a minute after the end. */
  async left(): Promise<readonly number[]> {
    return noneAlive(this.mark)
  }

  kill(): void {
    for (const pid of alive(this.mark)) end(pid)
  }
}

const MODE_KEYS: Readonly<Record<Plan['mode'], Readonly<Record<string, string | number>>>> = {
  one: { thread_mode: 'sync' },
  sync: { sync_mode: 'sync' },
  async: { sync_mode: 'async' },
  half_async: { sync_mode: 'half_async' },
  geo: { sync_mode: 'geo', geo_step: 8 },
  ring: { use_fleet: 'True' },
  ring_divided: { use_fleet: 'True', replicated_table_mb: 0 },
}

const SIGNALLED = 128
const SIGNALS: Readonly<Record<string, number>> = { SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }

function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? SIGNALLED + (SIGNALS[signal ?? ''] ?? 0)))
  })
}

export function end(pid: number, signal: NodeJS.Signals = 'SIGKILL'): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false // gone by itself
  }
}
