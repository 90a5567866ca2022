/** @file The processes of a job on all hosts, from start to end: servers, workers that wait for these, who failed first; nobody stays behind. */
import { type EventOf, type EventSink, type ProcessState, sumOfNotes } from '../../base/event/index.ts'
import { UserError, within } from '../../base/util/index.ts'
import { aborted } from '../launch/index.ts'
import { everyHost } from './open-hosts.ts'
import type { Note, ProcessRole } from './protocol.ts'
import type { RemoteHost } from './remote-host.ts'

export interface JobProcess {
  readonly host: RemoteHost
  readonly role: ProcessRole
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
  /** It was started before: logs go on. @default false */
  readonly goesOn?: boolean | undefined
}

const ANSWER_MS = 60_000 // a server that does not listen by then never will
const FAILURE_MS = 3000 // after a failure there is nothing to wait for
const SERVERS_LEAVE_MS = 2000 // by themselves, once all workers are done
const SERVERS_GRACE_MS = 2000
const KILLED_TOO_MS = 500 // what a kill brings about on other hosts may be heard of before the kill itself
const SIGNALS = 128

/** How one start of a job ended. */
export interface JobOutcome {
  /** 0, that of the process that failed first, or undefined when the job was asked to stop. */
  readonly code: number | undefined
  /** It failed since another of the job, or its host, is gone. */
  readonly isLost: boolean
  /** What its processes have said to their launcher. */
  readonly notes: readonly string[]
}

export async function runJob(options: RunJobOptions): Promise<JobOutcome> {
  const { processes, emit, signal, stopMs } = options
  const hosts = [...new Set(processes.map(({ host }) => host))]
  const table = new ProcessTable(options, hosts)
  const [servers, workers] = [byRole(processes, 'server'), byRole(processes, 'worker')]
  const stop = async (role: ProcessRole, wait: number) => await stopRole(options, hosts, role, wait)
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
      return table.outcome(0)
    }
    if (outcome !== 'aborted') emit(outcome.event)
    table.stopping(processes)
    // Workers first: to finish a step or to save they need their servers.
    await stop('worker', outcome === 'aborted' ? stopMs : FAILURE_MS)
    await stop('server', SERVERS_GRACE_MS)
    await table.ended(processes, SERVERS_GRACE_MS)
    return outcome === 'aborted' ? table.outcome(undefined) : table.outcome(outcome.code, outcome.isLost)
  } catch (error) {
    table.stopping(processes)
    await stop('worker', FAILURE_MS)
    await stop('server', SERVERS_GRACE_MS)
    throw error
  } finally {
    table.close()
  }
}

/** Starts everybody and resolves when all workers are done; stays pending after a failure, which is somebody else's business. */
async function trained(
  servers: readonly JobProcess[],
  workers: readonly JobProcess[],
  table: ProcessTable,
  options: RunJobOptions,
): Promise<void> {
  await startAll(servers, table, options)
  // From here to the requests nothing waits: a stop that comes later finds the workers.
  if (table.hasFailed || options.signal.aborted) return await new Promise<never>(() => undefined)
  // Workers load their models while servers come up; each waits for its servers before its first request.
  await Promise.all([startAll(workers, table, options), answered(servers, workers, table, options)])
  await table.done(workers)
}

/** Asked from where servers are needed: a firewall between two hosts shows here. */
async function answered(
  servers: readonly JobProcess[],
  workers: readonly JobProcess[],
  table: ProcessTable,
  { emit, signal }: RunJobOptions,
): Promise<void> {
  if (servers.length === 0) return
  const endpoints = servers.flatMap((server) => server.endpoints)
  const hosts = [...new Set(workers.map(({ host }) => host))]
  await everyHost(
    hosts.map(async (host) => {
      const { missing } = await host.ask('reach', { endpoints, timeoutMs: ANSWER_MS })
      if (missing.length > 0 && !table.hasFailed) throw notReached(host, missing)
    }),
  )
  if (table.hasFailed || signal.aborted) return
  const seconds = (performance.now() / 1000).toFixed(1) // since this process was started
  emit({ kind: 'notice', message: `all servers answer, ${seconds} s after the command` })
}

async function startAll(
  processes: readonly JobProcess[],
  table: ProcessTable,
  { job, folder, libraryPath, goesOn }: RunJobOptions,
) {
  const start = async (process: JobProcess) => {
    const { host, role, rank, command, env, log } = process
    const { pid } = await host.ask('start', { job, folder, libraryPath, role, rank, command, env, log, goesOn })
    table.started(process, pid)
  }
  await everyHost(processes.map(start))
}

/** Hosts that are gone cannot be asked; their processes have lost the others and end by themselves. */
async function stopRole(
  { job, folder }: RunJobOptions,
  hosts: readonly RemoteHost[],
  role: ProcessRole,
  stopMs: number,
) {
  await Promise.allSettled(hosts.map(async (host) => await host.ask('stop', { job, folder, role, stopMs })))
}

interface Failure {
  readonly event: EventOf<'error'>
  readonly code: number
  readonly isLost: boolean
}

type Ended = Extract<Note, { kind: 'ended' }>

/** What is known of each process, reported as it happens. */
class ProcessTable {
  /** The first. */
  readonly failure: Promise<Failure>
  hasFailed = false
  readonly #options: RunJobOptions
  readonly #pids = new Map<JobProcess, number>()
  readonly #ends = new Map<JobProcess, Ended>()
  readonly #asked = new Set<JobProcess>()
  readonly #waiting: (() => void)[] = []
  #fail!: (failure: Failure) => void
  #isClosed = false

  constructor(options: RunJobOptions, hosts: readonly RemoteHost[]) {
    this.#options = options
    this.failure = new Promise((done) => {
      this.#fail = (failure) => {
        this.hasFailed = true
        done(failure)
      }
    })
    for (const host of hosts) {
      host.onNote((note) => this.#hear(host, note))
      void host.lost.then((error) => this.#lose(error as UserError))
    }
  }

  /** Another start of the same processes is somebody else's to hear of. */
  close(): void {
    this.#isClosed = true
  }

  started(process: JobProcess, pid: number): void {
    this.#pids.set(process, pid)
    this.#report(process, 'running')
  }

  stopping(some: readonly JobProcess[]): void {
    for (const process of some.filter((each) => !this.#ends.has(each))) {
      this.#asked.add(process) // also one that is being started
      if (this.#pids.has(process)) this.#report(process, 'stopping')
    }
  }

  outcome(code: number | undefined, isLost = false): JobOutcome {
    return { code, isLost, notes: [...this.#ends.values()].flatMap(({ notes }) => notes) }
  }

  /** All have ended well. */
  async done(some: readonly JobProcess[]): Promise<void> {
    await this.#until(() => some.every((each) => this.#ends.get(each)?.code === 0))
  }

  /** Whether all that were started have ended within so long. */
  async ended(some: readonly JobProcess[], withinMs: number): Promise<boolean> {
    const all = this.#until(() => some.every((each) => !this.#pids.has(each) || this.#ends.has(each)))
    return await within(withinMs, all)
  }

  #hear(host: RemoteHost, note: Note): void {
    if (this.#isClosed) return
    const { role, rank } = note
    const process = this.#options.processes.find(
      (each) => each.host === host && each.role === role && each.rank === rank,
    )
    if (process && note.kind === 'ended') this.#end(process, note)
    else if (process && note.kind === 'output')
      this.#options.emit({ kind: 'output', role, rank, line: note.line, echo: role === 'worker' && rank === 0 })
  }

  #end(process: JobProcess, note: Ended): void {
    const wasAsked = this.#asked.has(process)
    this.#ends.set(process, note)
    this.#report(process, wasAsked ? 'stopped' : note.code === 0 ? 'done' : 'failed', note.text)
    if (note.code !== 0 && !wasAsked) {
      const failure = failureOf(process, note, this.#options.folder, this.#pids.get(process) ?? 0)
      if (note.code > SIGNALS) this.#fail(failure)
      else setTimeout(() => this.#fail(failure), KILLED_TOO_MS)
    }
    for (const look of this.#waiting) look()
  }

  #lose({ message, code = 'SSH_LOST' }: UserError): void {
    const event = { kind: 'error', code, message: `${message} The others are stopped.` } as const
    if (this.#asked.size === 0) this.#fail({ event, code: 1, isLost: true })
  }

  #report(process: JobProcess, state: ProcessState, exit?: string): void {
    const { host, role, rank, endpoints, log: path } = process
    const [pid, log] = [this.#pids.get(process) ?? 0, `${this.#options.folder}/${path}`]
    const at = { host: host.host.name, pid, endpoint: endpoints[0] ?? '', log }
    this.#options.emit({ kind: 'process', role, rank, state, ...at, exit })
  }

  async #until(condition: () => boolean): Promise<void> {
    await new Promise<void>((done) => {
      const look = () => condition() && done()
      this.#waiting.push(look)
      look()
    })
  }
}

function failureOf(process: JobProcess, note: Ended, folder: string, pid: number): Failure {
  const { host, role, rank, log } = process
  const path = `${host.host.name}:${folder}/${log}`
  const tail =
    note.lines.length === 0 ? `It printed nothing to ${path}.` : `The end of ${path}:\n${note.lines.join('\n')}`
  const message = `${host.host.name}: ${role} ${rank} (pid ${pid}) failed first: ${note.text}. The others are stopped.`
  const event = { kind: 'error', code: 'SSH_PROCESS_FAILED', message, hint: tail } as const
  return { event, code: note.code, isLost: sumOfNotes(note.notes).isLost }
}

const notReached = ({ host }: RemoteHost, missing: readonly string[]) =>
  new UserError(`${host.name} cannot reach the servers ${missing.join(', ')}.`, {
    code: 'SSH_SERVERS',
    hint: 'See log/server.log on their hosts, PADDLE_NIC, and whether a firewall lets these ports pass.',
  })

const byRole = (processes: readonly JobProcess[], role: ProcessRole) =>
  processes.filter((process) => process.role === role)
