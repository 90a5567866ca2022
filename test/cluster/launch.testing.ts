/** @file The built launchers in processes of their own, and what of them is still alive. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Event, EventOf } from '../../src/base/event/index.ts'

const BINS = {
  fleetrun: fileURLToPath(new URL('../../bin/fleetrun.js', import.meta.url)),
  oarfish: fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url)),
}
export const ACTOR = fileURLToPath(new URL('../fixtures/launch/actor.mjs', import.meta.url))
const TIMEOUT_MS = 200_000

/** Removes what static_ps_trainer leaves where it runs. */
export function removeLeft(folder: string): void {
  const left = readdirSync(folder).filter((name) =>
    /^train_result_dict\.txt$|^\d+_worker_.*_program\.prototxt$/.test(name),
  )
  for (const name of left) rmSync(join(folder, name), { force: true })
}

export interface LaunchRun {
  readonly code: number | null
  readonly out: string
  readonly err: string
  readonly seconds: number
  /** Set in the environment of every process of this run. */
  readonly mark: string
}

export interface LaunchRunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** @default 200 s */
  readonly timeoutMs?: number
  /** Sees each piece of output as it comes. */
  readonly onOutput?: (all: string, launcher: ChildProcess) => void
}

/** Runs a launcher to its end; one that does not end is killed, which fails the test by its exit code. */
export function run(bin: keyof typeof BINS, args: readonly string[], options: LaunchRunOptions): Promise<LaunchRun> {
  const mark = randomUUID()
  const begin = performance.now()
  return new Promise((resolve, reject) => {
    // What the environment of this test run says is not the job's: the data sets that CI names, a cluster around it.
    const own = Object.entries(process.env).filter(([name]) => !/^(PADDLE|OARFISH|FLAGS)_/.test(name))
    const env = { ...Object.fromEntries(own), ...options.env, OARFISH_TEST_MARK: mark }
    const child = spawn(process.execPath, [BINS[bin], ...args], {
      cwd: options.cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? TIMEOUT_MS)
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      options.onOutput?.(out, child)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.on('error', reject)
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer)
      // As a shell shows it: a second Ctrl+C ends a process by the signal itself.
      const code = signal === 'SIGINT' ? 130 : exitCode
      resolve({ code, out, err, seconds: (performance.now() - begin) / 1000, mark })
    })
  })
}

export function eventsOf({ out }: Pick<LaunchRun, 'out'>): readonly Event[] {
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

export function ofKind<K extends Event['kind']>(events: readonly Event[], kind: K): readonly EventOf<K>[] {
  return events.filter((event): event is EventOf<K> => event.kind === kind)
}

/** The processes of a run that still live, launcher and grandchildren included. */
export function alive(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isZombie = /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
        return !isZombie && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Waits until none is alive, and says who is when a minute is over. */
export async function noneAlive(mark: string): Promise<readonly number[]> {
  const end = performance.now() + 60_000
  while (alive(mark).length > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 50))
  return alive(mark)
}
