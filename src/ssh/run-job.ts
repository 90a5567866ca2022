/** @file The processes of a job on all hosts, from start to end: servers, workers that wait for these, who failed first; nobody stays behind. */
import type { EventSink, ProcessState } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { everyHost } from './open-hosts.ts'
import type { Note, Role } from './protocol.ts'
import type { RemoteHost } from './remote-host.ts'

export interface JobProcess {
  readonly host: RemoteHost
  readonly role: Role
  readonly rank: number
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Below the job's folder. */
  readonly log: string
  /** Where it listens, for people and for who waits for it. */
  readonly endpoints: readonly string[]
}

export interface RunJobOptions {
  readonly job: string
  /** On every host. */
  readonly folder: string
  readonly libraryPath: string
  readonly processes: readonly JobProcess[]
  readonly emit: EventSink
  /** Asks for an end in good order. */
  readonly signal: AbortSignal
  /** How long processes may take to end in good order. */
  readonly stopMs: number
}

const ANSWER_MS = 60_000 // a server that does not listen by then never will
const FAILURE_MS = 3000 // after a failure there is nothing to wait for
const SERVERS_LEAVE_MS = 2000 // by themselves, once all workers are done
const SERVERS_GRACE_MS = 2000

/** Resolves to 0, to the exit code of the process that failed first, or to undefined when the job was asked to stop. */
export async function runJob(options: RunJobOptions): Promise<number | undefined> {
  const { processes, emit, signal, stopMs } = options
  const hosts = [...new Set(processes.map(({ host }) => host))]
  const table = watch(options, hosts)
  const [servers, workers] = [byRole(processes, 'server'), byRole(processes, 'worker')]
  const stop = async (role: Role, wait: number) => await stopRole(options, hosts, role, wait)
  try {
    const outcome = await Promise.race([
      table.failure,
      aborted(signal),
      trained(servers, workers, table, options).then(() => 'finished' as const),
    ])
    if (outcome === 'finished') {
      if (!(await table.ended(servers, SERVERS_LEAVE_MS))) table.stopping(servers)
      await stop('server', SERVERS_GRACE_MS)
      await table.ended(servers, SERVERS_GRACE_MS)
      return 0
    }
    if (outcome !== 'aborted') emit(outcome.event)
    table.stopping(processes)
    // Workers first: to finish a step or to save they need their servers.
    await stop('worker', outcome === 'aborted' ? stopMs : FAILURE_MS)
    await stop('server', SERVERS_GRACE_MS)
    await table.ended(processes, SERVERS_GRACE_MS)
    return outcome === 'aborted' ? undefined : outcome.code
  } catch (error) {
    table.stopping(processes)
    await stop('worker', FAILURE_MS)
    await stop('server', SERVERS_GRACE_MS)
    throw error
  }
}

/** Starts everybody and resolves when all workers are done; stays pending after a failure, which is somebody else's business. */
async function trained(
  servers: readonly JobProcess[],
  workers: readonly JobProcess[],
  table: Table,
  options: RunJobOptions,
): Promise<void> {
  await startAll(servers, table, options)
  // From here to the requests nothing waits: a stop that comes later finds the workers.
  if (table.hasFailed() || options.signal.aborted) return await new Promise<never>(() => undefined)
  // Workers load their models while servers come up; each waits for its servers before its first request.
  await Promise.all([startAll(workers, table, options), answered(servers, workers, table, options)])
  await table.done(workers)
}

/** Asked from where servers are needed: a firewall between two hosts shows here. */
async function answered(
  servers: readonly JobProcess[],
  workers: readonly JobProcess[],
  table: Table,
  { emit, signal }: RunJobOptions,
): Promise<void> {
  if (servers.length === 0) return
  const endpoints = servers.flatMap((server) => server.endpoints)
  const hosts = [...new Set(workers.map(({ host }) => host))]
  await everyHost(
    hosts.map(async (host) => {
      const { missing } = await host.ask('reach', { endpoints, timeoutMs: ANSWER_MS })
      if (missing.length > 0 && !table.hasFailed()) throw notReached(host, missing)
    }),
  )
  if (table.hasFailed() || signal.aborted) return
  const seconds = (performance.now() / 1000).toFixed(1) // since this process was started
  emit({ kind: 'notice', message: `all servers answer, ${seconds} s after the command` })
}

async function startAll(processes: readonly JobProcess[], table: Table, { job, folder, libraryPath }: RunJobOptions) {
  const start = async (process: JobProcess) => {
    const { host, role, rank, command, env, log } = process
    const { pid } = await host.ask('start', { job, folder, libraryPath, role, rank, command, env, log })
    table.started(process, pid)
  }
  await everyHost(processes.map(start))
}

/** Hosts that are gone cannot be asked; their processes have lost the others and end by themselves. */
async function stopRole({ job, folder }: RunJobOptions, hosts: readonly RemoteHost[], role: Role, stopMs: number) {
  await Promise.allSettled(hosts.map(async (host) => await host.ask('stop', { job, folder, role, stopMs })))
}

interface Failure {
  readonly event: { readonly kind: 'error'; readonly code: string; readonly message: string; readonly hint?: string }
  readonly code: number
}

type Table = ReturnType<typeof watch>

/** What is known of each process, told as it happens. */
function watch({ processes, emit, folder }: RunJobOptions, hosts: readonly RemoteHost[]) {
  const pids = new Map<JobProcess, number>()
  const ends = new Map<JobProcess, Extract<Note, { kind: 'ended' }>>()
  const asked = new Set<JobProcess>()
  const waiting: (() => void)[] = []
  let failed: Failure | undefined
  let fail!: (failure: Failure) => void
  const failure = new Promise<Failure>((done) => {
    fail = (first) => {
      failed ??= first
      done(first)
    }
  })
  const report = (process: JobProcess, state: ProcessState, exit?: string) => {
    const { host, role, rank, endpoints, log } = process
    const [endpoint = ''] = endpoints
    const at = { host: host.host.name, pid: pids.get(process) ?? 0, endpoint, log: `${folder}/${log}` }
    emit({ kind: 'process', role, rank, state, ...at, ...(exit !== undefined && { exit }) })
  }
  const ended = (process: JobProcess, note: Extract<Note, { kind: 'ended' }>) => {
    ends.set(process, note)
    report(process, asked.has(process) ? 'stopped' : note.code === 0 ? 'done' : 'failed', note.text)
    if (note.code !== 0 && !asked.has(process)) fail(failureOf(process, note, folder, pids.get(process) ?? 0))
    for (const look of waiting) look()
  }
  for (const host of hosts) {
    host.onNote((note) => {
      const process = processes.find((each) => each.host === host && each.role === note.role && each.rank === note.rank)
      if (!process) return
      if (note.kind === 'ended') return ended(process, note)
      const { role, rank, line } = note
      emit({ kind: 'output', role, rank, line, echo: role === 'worker' && rank === 0 })
    })
    void host.lost.then((error) => {
      const { message, code, hint } = error as UserError
      const told = hint === undefined ? {} : { hint }
      if (asked.size === 0) fail({ event: { kind: 'error', code: code ?? 'SSH_LOST', message, ...told }, code: 1 })
    })
  }
  const until = (condition: () => boolean) =>
    new Promise<void>((done) => {
      const look = () => condition() && done()
      waiting.push(look)
      look()
    })
  return {
    failure,
    hasFailed: () => failed !== undefined,
    started: (process: JobProcess, pid: number) => {
      pids.set(process, pid)
      report(process, 'running')
    },
    stopping: (some: readonly JobProcess[]) => {
      for (const process of some.filter((each) => !ends.has(each))) {
        asked.add(process) // also one that is being started
        if (pids.has(process)) report(process, 'stopping')
      }
    },
    /** All have ended well. */
    done: async (some: readonly JobProcess[]) => await until(() => some.every((each) => ends.get(each)?.code === 0)),
    /** Whether all that were started have ended within so long. */
    ended: async (some: readonly JobProcess[], withinMs: number) => {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<false>((done) => {
        timer = setTimeout(done, withinMs, false)
      })
      const all = until(() => some.every((each) => !pids.has(each) || ends.has(each)))
      return await Promise.race([all.then(() => true), late]).finally(() => clearTimeout(timer))
    },
  }
}

function failureOf(process: JobProcess, note: Extract<Note, { kind: 'ended' }>, folder: string, pid: number): Failure {
  const { host, role, rank, log } = process
  const path = `${host.host.name}:${folder}/${log}`
  const tail =
    note.lines.length === 0 ? `It printed nothing to ${path}.` : `The end of ${path}:\n${note.lines.join('\n')}`
  const message = `${host.host.name}: ${role} ${rank} (pid ${pid}) failed first: ${note.text}. The others are stopped.`
  return { event: { kind: 'error', code: 'SSH_PROCESS_FAILED', message, hint: tail }, code: note.code }
}

const notReached = ({ host }: RemoteHost, missing: readonly string[]) =>
  new UserError(`${host.name} cannot reach the servers ${missing.join(', ')}.`, {
    code: 'SSH_SERVERS',
    hint: 'See log/server.log on their hosts, PADDLE_NIC, and whether a firewall lets these ports pass.',
  })

const byRole = (processes: readonly JobProcess[], role: Role) => processes.filter((process) => process.role === role)

function aborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted')
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
}
