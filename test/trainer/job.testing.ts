/** @file Trainers and servers as processes, over a copy of examples/recommendation with its sample data. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnv, type Started, watched } from '../fluid/process.testing.ts'
import { freeStretches } from '../ports.testing.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BIN = join(ROOT, 'bin/oarfish.js')

export interface Workspace {
  readonly folder: string
  remove(): void
}

export function openWorkspace(): Workspace {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-trainer-'))
  cpSync(join(ROOT, 'examples/recommendation'), folder, {
    recursive: true,
    filter: (path) => !/[/\\](output|log)$/.test(path),
  })
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export function start(
  program: 'trainer' | 'pserver',
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Started {
  return watched(spawn(process.execPath, [BIN, program, ...args], { cwd, env: { ...cleanEnv(), ...env } }))
}

export interface JobOptions {
  readonly trainers: number
  readonly servers: number
  readonly ports?: number
  readonly sparsePorts?: number
  /** Options of every trainer, or of trainer i. */
  readonly options: readonly string[] | ((trainer: number) => readonly string[])
  readonly cwd: string | ((trainer: number) => string)
}

export interface StartedJob {
  readonly trainers: readonly Started[]
  readonly servers: readonly Started[]
  readonly all: readonly Started[]
  /** Exit codes: of the trainers, then of the servers. */
  ended(): Promise<readonly (number | string)[]>
  /** Ends what still runs. */
  kill(): void
}

/** Each server has a stretch of ports of its own, since all are on this host. */
export async function startJob(job: JobOptions): Promise<StartedJob> {
  const { ports = 1, sparsePorts = 0 } = job
  const found = await freeStretches(job.servers, ports + sparsePorts)
  const shared = [
    `--ports_num=${ports}`,
    `--ports_num_for_sparse=${sparsePorts}`,
    `--num_gradient_servers=${job.trainers}`,
  ]
  const folder = (i: number) => (typeof job.cwd === 'string' ? job.cwd : job.cwd(i))
  const servers = found.map((port, i) =>
    start('pserver', [...shared, `--port=${port}`, '--nics=lo', `--log_dir=log/server-${i}`], folder(0)),
  )
  const list = found.map((port) => `127.0.0.1:${port}`).join(',')
  const trainers = Array.from({ length: job.trainers }, (_, i) => {
    const own = typeof job.options === 'function' ? job.options(i) : job.options
    const place = [`--trainer_id=${i}`, `--pservers=${list}`, `--log_dir=log/trainer-${i}`]
    return start('trainer', [...shared, ...place, ...own], folder(i))
  })
  const all = [...trainers, ...servers]
  return {
    ...{ trainers, servers, all },
    ended: () => Promise.all(all.map(({ ended }) => ended)),
    kill: () => {
      for (const { child } of all) killed(child)
    },
  }
}

function killed(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
}

/** Test costs in the order of the passes. */
export function testCosts(output: string): readonly number[] {
  return [...output.matchAll(/ Test samples=\d+ cost=(\S+) /g)].map(([, cost]) => Number(cost))
}

export const rmse = (cost: number) => Math.sqrt(cost) / 2
