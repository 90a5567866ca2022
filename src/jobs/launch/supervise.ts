/** @file A job's processes on this host, from start to end: who failed first, when servers may go, and that nobody stays behind. */
import { constants } from 'node:os'
import { type EventSink, type ProcessState, readNotes } from '../../base/event/index.ts'
import { within } from '../../base/util/index.ts'
import { type Child, type Exit, type ProcessSpec, startChild } from './child.ts'
import { follow, lastLines } from './log-lines.ts'
import { type MemoryWatch, watchMemory } from './out-of-memory.ts'
import { recordLaunch } from './record-launch.ts'

export interface JobSpec {
  readonly command: readonly string[]
  /** In the order in which they are started. */
  readonly processes: readonly ProcessSpec[]
  /** These processes, where they were started ahead and wait. @default they are started now */
  readonly ahead?: readonly Child[] | undefined
  /** Whether all workers of the job are on this host; otherwise servers stay until the others' workers are done too. */
  readonly hasAllWorkers: boolean
}

export interface SuperviseOptions {
  readonly emit: EventSink
  /** Asks for an end in good order. */
  readonly signal: AbortSignal
  /** Also emit the newest line of processes that are not echoed. */
  readonly sampleOutput?: boolean | undefined
  /** How long processes may take to end in good order when the job is asked to stop, until they are killed. */
  readonly stopMs?: number | (() => number | undefined) | undefined
}

export interface RunningJob {
  /** The exit code of the job: 0, that of the process that failed first, or undefined when it was asked to stop. */
  readonly ended: Promise<number | undefined>
  /** SIGKILL to everybody, now. */
  kill(): void
  /** Of the process that failed first, or was asked to stop by somebody else, once one has or was. */
  failedLog?(): string | undefined
}

const STOP_MS = 30_000 // time to save; a second Ctrl+C does not wait for it
const FAILURE_MS = 3000 // after a failure there is nothing to wait for
const SERVERS_LEAVE_MS = 500 // by themselves, once all workers are gone
const SERVERS_GRACE_MS = 700
/** How oarfish ends after SIGINT and SIGTERM. */
const STOPPED = 143
const STOP_CODES: ReadonlySet<number> = new Set([130, STOPPED])
const KILLED_MS = 5000 // a killed process is gone unless the kernel holds it

export function superviseJob(job: JobSpec, options: SuperviseOptions): RunningJob {
  // All in one turn of the event loop: sockets are handed over before anybody can connect to them here.
  const memory = watchMemory()
  const children = job.ahead ?? job.processes.map((spec) => startChild(spec, job.command))
  for (const child of job.ahead ?? []) child.begin?.()
  let failed: Child | undefined
  const onFailed = (child: Child) => {
    failed = child
  }
  return {
    ended: run(children, job, { ...options, memory, onFailed }),
    kill: () => signalAll(children, 'SIGKILL'),
    failedLog: () => failed?.spec.log,
  }
}

interface RunOptions extends SuperviseOptions {
  readonly memory: MemoryWatch
  readonly onFailed: (child: Child) => void
}

async function run(children: readonly Child[], { hasAllWorkers }: JobSpec, options: RunOptions) {
  const { signal, memory, onFailed } = options
  const stopMs = () => (typeof options.stopMs === 'function' ? options.stopMs() : options.stopMs) ?? STOP_MS
  const recorded = recordLaunch(
    children.map(({ spec }) => spec.log),
    options.emit,
  )
  const { emit } = recorded
  const stopping = new Set<Child>()
  const report = (child: Child, state: ProcessState) => emit(processEvent(child, state))
  const follower = follow(children, { ...options, emit })
  for (const child of children) report(child, 'running')

  const ends = children.map(async (child) => {
    const exit = await child.exited
    follower.drain(child)
    report(child, stopping.has(child) || hasStopped(child) ? 'stopped' : exit.code === 0 ? 'done' : 'failed')
  })
  const stop = async (some: readonly Child[], wait: number) => {
    for (const child of some.filter(({ exit }) => !exit)) {
      stopping.add(child)
      report(child, 'stopping')
      child.signal('SIGTERM')
    }
    if (await within(wait, allEnded(some))) return
    signalAll(some, 'SIGKILL')
    if (!(await within(KILLED_MS, allEnded(some)))) emit(lingeringEvent(some))
  }

  // A job that is started again and again would leave a listener of each start behind.
  const over = new AbortController()
  try {
    const [workers, servers] = [byRole(children, 'worker'), byRole(children, 'server')]
    const finished = finish({ workers, servers, hasAllWorkers, emit, stop })
    const failed = firstFailure(children, stopping).then((first) => causeOf(first, children))
    const outcome = await Promise.race([failed, aborted(signal, over.signal), finished])
    // All stopped with a process that was asked to: that of another host, or one that ends after them.
    if (outcome === 'finished') return hasAllWorkers && workers.some(isStopped) ? STOPPED : 0
    if (outcome !== 'aborted') onFailed(outcome)
    if (outcome !== 'aborted' && hasStopped(outcome)) {
      // It has saved with all others, who are about to end.
      emit({
        kind: 'notice',
        message: `${whoIs(outcome)} was asked to stop (${outcome.exit!.text}), saved with all others and has left.`,
      })
      await within(stopMs(), allEnded(workers))
      await stop(workers, FAILURE_MS)
      await stop(servers, SERVERS_GRACE_MS)
      return outcome.exit!.code
    }
    // Asked at once: what the others do while they are stopped may need memory too. A shell ends with the code of what was killed in it.
    const why = outcome !== 'aborted' && outcome.exit!.code === KILLED ? memory.explain() : undefined
    if (outcome !== 'aborted') emit(why === undefined ? failureEvent(outcome) : outOfMemoryEvent(outcome, why))
    // Workers first: to finish a step or to save they need their servers.
    await stop(workers, outcome === 'aborted' ? stopMs() : FAILURE_MS)
    await stop(servers, SERVERS_GRACE_MS)
    return outcome === 'aborted' ? undefined : why === undefined ? outcome.exit!.code : USER_ERROR
  } finally {
    over.abort()
    await within(KILLED_MS, Promise.all(ends)) // what the kernel holds is not waited for
    follower.close()
    recorded.close()
  }
}

interface FinishOptions {
  readonly workers: readonly Child[]
  readonly servers: readonly Child[]
  readonly hasAllWorkers: boolean
  readonly emit: EventSink
  readonly stop: (some: readonly Child[], wait: number) => Promise<void>
}

/** The good end: all workers done, then the servers. Never resolves after a failure, which is somebody else's business. */
async function finish({ workers, servers, hasAllWorkers, emit, stop }: FinishOptions): Promise<'finished'> {
  await allSucceeded(workers)
  if (workers.length === 0 || !hasAllWorkers) {
    const message = 'The workers of this host are done; its servers stay until those of the other hosts are done too.'
    if (workers.length > 0 && servers.some(({ exit }) => !exit)) emit({ kind: 'notice', message })
    await allSucceeded(servers)
  } else if (!(await within(SERVERS_LEAVE_MS, allSucceeded(servers)))) await stop(servers, SERVERS_GRACE_MS)
  return 'finished'
}

/** The first process that failed without having been asked to stop. */
function firstFailure(children: readonly Child[], stopping: ReadonlySet<Child>): Promise<Child> {
  return new Promise((resolve) => {
    for (const child of children) {
      void child.exited.then(({ code }) => {
        if (code !== 0 && !stopping.has(child)) resolve(child)
      })
    }
  })
}

const KILLED_TOO_MS = 200

/**
 * A process that is killed closes its connections before the kernel reports its end: one that ended over that may be seen first. So the
 * one that a signal ended counts, if there is one within a moment.
 */
export async function causeOf(first: Child, children: readonly Child[]): Promise<Child> {
  if (isKilled(first)) return first
  const others = children.filter((child) => child !== first)
  const killed = others.map(async (child) => {
    await child.exited
    if (!isKilled(child)) await new Promise<never>(() => undefined)
  })
  await within(KILLED_TOO_MS, Promise.race(killed))
  return others.find(isKilled) ?? first
}

/** Before all was trained. */
const isStopped = ({ spec: { log } }: Child) => readNotes([log]).isStopped

/** Asked to stop by somebody else than this launcher, and ended in good order. */
const hasStopped = (child: Child) =>
  STOP_CODES.has(child.exit!.code) &&
  child.exit!.text.startsWith('exit code') &&
  (child.spec.role === 'server' || isStopped(child))

const isKilled = ({ exit }: Child) => exit?.text.startsWith('signal ') ?? false

/** Resolves when the signal has come; `over`: nobody waits for it any longer. */
export function aborted(signal: AbortSignal, over?: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted')
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true, ...(over ? { signal: over } : {}) })
  })
}

async function allEnded(children: readonly Child[]): Promise<readonly Exit[]> {
  return await Promise.all(children.map(({ exited }) => exited))
}

/** Resolves when all have ended well; stays pending otherwise. */
async function allSucceeded(children: readonly Child[]): Promise<void> {
  const exits = await allEnded(children)
  if (exits.some(({ code }) => code !== 0)) await new Promise<never>(() => undefined)
}

function signalAll(children: readonly Child[], name: 'SIGTERM' | 'SIGKILL'): void {
  for (const child of children) child.signal(name)
}

function byRole(children: readonly Child[], role: ProcessSpec['role']): readonly Child[] {
  return children.filter(({ spec }) => spec.role === role)
}

const REPORTED_LINES = 40
const KILLED = 128 + constants.signals.SIGKILL
const USER_ERROR = 2 // the exit code of what a user can mend

function processEvent({ spec: { role, rank, endpoint, log }, pid, exit }: Child, state: ProcessState) {
  return { kind: 'process', role, rank, pid, state, endpoint, log, exit: exit?.text } as const
}

const whoIs = ({ spec: { role, rank, endpoint }, pid }: Child) =>
  `${role} ${rank}${endpoint ? ` ${endpoint}` : ''} (pid ${pid})`

function outOfMemoryEvent(child: Child, why: string) {
  return {
    kind: 'error',
    code: 'LAUNCH_OUT_OF_MEMORY',
    message: `${whoIs(child)} failed first: ${why}. The other processes of this host are stopped.`,
    hint: 'Raise the limit (of the container, service or Slurm job), start fewer processes, or use fewer threads and smaller batches.',
  } as const
}

function failureEvent(child: Child) {
  const { log } = child.spec
  const { exit } = child
  const who = whoIs(child)
  const lines = lastLines(log, REPORTED_LINES)
  const tail = lines.length === 0 ? `It printed nothing to ${log}.` : `The end of ${log}:\n${lines.join('\n')}`
  return {
    kind: 'error',
    code: 'LAUNCH_PROCESS_FAILED',
    message: `${who} failed first: ${exit!.text}. The other processes of this host are stopped.`,
    hint: tail,
  } as const
}

function lingeringEvent(children: readonly Child[]) {
  const left = children.filter(({ exit }) => !exit).map(({ spec, pid }) => `${spec.role} ${spec.rank} (pid ${pid})`)
  const message = `Killed, but still there: ${left.join(', ')}. The kernel holds them, as it does on a disk that does not answer.`
  return { kind: 'warning', message } as const
}
