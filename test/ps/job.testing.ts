/** @file A parameter-server job of real processes on this host, without a launcher. */
import { type ChildProcess, spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../../src/base/env/index.ts'
import type { Faults } from '../../src/base/net/faulty.testing.ts'
import type { Network } from '../netns/network.testing.ts'
import { freePorts } from '../ports.testing.ts'

const PROCESS = fileURLToPath(new URL('./process.mjs', import.meta.url))
/** From sources: what is built has no transports of tests. */
const FAULTY = ['--import', new URL('../../node_modules/jiti/lib/jiti-register.mjs', import.meta.url).href]
const FAULTY_PROCESS = fileURLToPath(new URL('./faulty-process.ts', import.meta.url))

export interface JobOptions {
  readonly path: string
  readonly workers: number
  readonly servers: number
  readonly overrides?: readonly string[]
  /** Of single processes, by name (`worker 1`). */
  readonly own?: Readonly<Record<string, { readonly overrides?: readonly string[]; readonly cluster?: object }>>
  readonly options?: object
  /** How long a process that gets SIGUSR2 does nothing else. */
  readonly busyMs?: number
  /** Workers have addresses too, as fleetrun gives them. @default false */
  readonly workersListen?: boolean
  /** @default true */
  readonly workersStarted?: boolean
  /** Of what every process knows: in place of the usual. */
  readonly shared?: Partial<Cluster>
  /** What befalls frames between processes; what is lost is sent again. @default nothing */
  readonly faults?: Faults
  /** One process a host, servers first. @default all on this host */
  readonly network?: Network
}

export interface JobProcess {
  readonly name: string
  readonly child: ChildProcess
  readonly events: Record<string, unknown>[]
  /** Exit code, or the signal's name. */
  readonly ended: Promise<number | string>
  err: string
  /** When it said that it failed. */
  failedAt: number
}

export interface Job {
  /** What every process knows. */
  readonly cluster: Omit<Cluster, 'role' | 'rank' | 'endpoint'>
  readonly processes: readonly JobProcess[]
  readonly named: (name: string) => JobProcess
  /** Waits for all; fails with what they said when one did not end with 0. */
  readonly success: () => Promise<void>
  readonly kill: () => void
}

export async function startJob({
  path,
  workers,
  servers,
  overrides = [],
  own = {},
  options,
  busyMs,
  workersListen = false,
  workersStarted = true,
  shared: other,
  network,
  faults,
}: JobOptions): Promise<Job> {
  const ports = await freePorts(servers + (workersListen ? workers : 0))
  const endpoints = ports.map((port, i) => `${network?.hosts[i]?.address ?? '127.0.0.1'}:${port}`)
  const local = endpoints.slice(servers)
  const shared = {
    servers: endpoints.slice(0, servers),
    workers: local,
    workerNum: workers,
    jobId: 'test',
    token: 'secret',
    inherited: {},
    ...other,
  }
  const program = faults ? [...FAULTY, FAULTY_PROCESS] : [PROCESS]
  const start = (role: 'server' | 'worker', rank: number): JobProcess => {
    const name = `${role} ${rank}`
    const endpoint = role === 'server' ? shared.servers[rank] : ''
    const cluster = { ...shared, role, rank, endpoint, ...own[name]?.cluster }
    const task = { cluster, path, overrides: [...overrides, ...(own[name]?.overrides ?? [])], options, busyMs, faults }
    const host = network?.hosts[role === 'server' ? rank : servers + rank]
    const child = (host?.spawn ?? spawn)(process.execPath, [...program, JSON.stringify(task)], {
      cwd: dirname(path),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const events: Record<string, unknown>[] = []
    let rest = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const event = JSON.parse(line)
        events.push(event)
        if (event.kind === 'failed') started.failedAt = Date.now()
      }
    })
    const ended = new Promise<number | string>((resolve) =>
      child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown')),
    )
    const started: JobProcess = { name, child, events, ended, err: '', failedAt: 0 }
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      started.err += text
    })
    return started
  }
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)
  const processes = [
    ...numbers(servers).map((rank) => start('server', rank)),
    ...numbers(workersStarted ? workers : 0).map((rank) => start('worker', rank)),
  ]
  return {
    cluster: shared,
    processes,
    named: (name) => processes.find((one) => one.name === name)!,
    kill: () => {
      for (const { child } of processes) child.kill('SIGKILL')
    },
    success: async () => {
      for (const one of processes) {
        const code = await one.ended
        if (code !== 0) {
          const said = one.events.filter(({ kind }) => kind === 'failed' || kind === 'warning')
          throw new Error(`${one.name} ended with ${code}: ${JSON.stringify(said, null, 1)} ${one.err}`)
        }
      }
    },
  }
}

/** Waits until every worker is training. */
export async function training(job: Job): Promise<void> {
  const trains = ({ name, events }: JobProcess) =>
    name.startsWith('server') || events.some(({ kind }) => kind === 'batch')
  const until = Date.now() + 200_000
  while (!job.processes.every(trains)) {
    const failed = job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'failed'))
    if (failed.length > 0 || Date.now() > until) throw new Error(`not training: ${JSON.stringify(failed)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
