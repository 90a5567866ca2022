/** @file A job over all its starts: when processes die, leave or join, all of it is stopped and started again from its last cut. On several hosts each launcher does so for its own. */
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import type { Env } from '../../base/env/index.ts'
import { type EventSink, forgetNotes, readNotes } from '../../base/event/index.ts'
import type { JoinRequests } from './join.ts'
import {
  firstMembership,
  isElastic,
  type MembershipEvent,
  type NextMembership,
  nextMembership,
  roomIn,
} from './membership.ts'
import type { JobEnd } from './next-start.ts'
import type { RunningJob } from './supervise.ts'

export interface RecoverOptions {
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** Starts without a new cut between them, after which the job ends. @default 3 */
  readonly maxRestart?: number | undefined
  /** The job was told to go on from what is saved. @default false */
  readonly resumes?: boolean | undefined
  /** Processes of the job are on other hosts too, whose launchers notice a failure in their own time. @default false */
  readonly isSpread?: boolean | undefined
  /** Another launcher had this place before and is gone: the others start again as well, in their own time. @default false */
  readonly isAgain?: boolean | undefined
  /** How long launchers of other hosts may take to notice a failure and start again. @default 45 s */
  readonly gatherMs?: number | undefined
  /** How many workers there may be, where that may change; the job begins with `max`. @default their number stays */
  readonly workers?: { readonly min: number; readonly max: number } | undefined
  /** Of those who ask for one more worker. @default nobody can */
  readonly joins?: JoinRequests | undefined
}

/** How a start differs from the first one, which is 0. */
export interface Restart {
  readonly number: number
  /** There is something of this job to go on from. */
  readonly resumes: boolean
  /** How many workers there are, where that may change. */
  readonly workers?: number | undefined
}

export interface StartedJob extends RunningJob {
  /** Of its processes. */
  readonly logs: readonly string[]
  /** Of those who train; the others are servers. @default all */
  readonly workerLogs?: readonly string[] | undefined
}

export const MAX_RESTART = 3

export const FIRST: Restart = { number: 0, resumes: false }

/** Whether this script goes on from what is saved. */
export const resumes = (script: readonly string[]): boolean => script.includes('--resume')

/** What processes of a start know that is not the first. */
export const restartEnv = ({ number, resumes: isResumed }: Restart): Env => ({
  ...(number > 0 ? { OARFISH_RESTART: String(number) } : {}),
  ...(isResumed ? { OARFISH_RESUME: '1' } : {}),
})

/** Hosts notice a loss within the silence limit; until then one that starts again meets processes of the start before. */
const GATHER_MS = 45_000
const [FIRST_WAIT_MS, LAST_WAIT_MS] = [500, 8000]
const STOPPED: ReadonlySet<number | undefined> = new Set([130, 143])

/** Starts the job; `signal` asks this start to end in good order. */
export type StartJob = (restart: Restart, signal: AbortSignal) => Promise<StartedJob>

/** Supervises the job over all its starts; the exit code is that of the last. */
export async function recovering(start: StartJob, options: RecoverOptions): Promise<RunningJob> {
  const starts = new Starting(start, options)
  await starts.begin()
  return { ended: starts.run().finally(() => starts.forget()), kill: () => [starts.kill(), starts.forget()] }
}

class Starting {
  readonly #start: StartJob
  readonly #options: RecoverOptions
  readonly #size: { readonly min: number; readonly max: number }
  #membership: NextMembership['membership']
  #job!: StartedJob
  #stop = new AbortController()
  /** Workers that join with the next start. */
  #joining = 0
  #saved = 0
  #isSaved: boolean
  #beginsAnew: boolean
  #gathering: { readonly since: number; attempts: number }

  constructor(start: StartJob, options: RecoverOptions) {
    this.#start = start
    this.#options = options
    this.#size = options.workers ?? { min: 1, max: 1 }
    this.#membership = firstMembership(this.#size.max)
    const { resumes: isResumed = false, isAgain = false } = options
    this.#isSaved = isResumed
    this.#beginsAnew = isAgain
    this.#gathering = { since: performance.now(), attempts: isAgain ? 1 : 0 }
    options.joins?.listen((workers) => this.#join(workers))
  }

  async begin(): Promise<void> {
    const { number, size, starts } = this.#membership
    const workers = this.#options.workers && { workers: size }
    const restart = number === 0 ? FIRST : { number: starts.restart, resumes: this.#isSaved }
    this.#stop = new AbortController()
    const signal = AbortSignal.any([this.#options.signal, this.#stop.signal])
    this.#job = await this.#start({ ...restart, ...workers }, signal)
  }

  kill(): void {
    this.#job.kill()
  }

  forget(): void {
    forgetNotes(this.#job.logs)
  }

  async run(): Promise<number | undefined> {
    const { emit, signal, isSpread = false, maxRestart = MAX_RESTART } = this.#options
    for (;;) {
      const code = await this.#job.ended
      const event = this.#event(code)
      if (!event) return 0
      // Of hosts that stay, each launcher would wait for the others in vain: their workers have ended in good order.
      if (event.kind === 'left' && isSpread && !signal.aborted) {
        emit({ kind: 'warning', message: `The job was asked to stop, and is saved. ${GO_ON}` })
        return code
      }
      const before = this.#membership
      const rules = { maxRestart, resumes: this.#isSaved, beginsAnew: this.#beginsAnew, ...this.#size }
      const { membership, verdict } = nextMembership(before, event, rules)
      this.#membership = membership
      const warning = WARNINGS[verdict]?.({ maxRestart, size: membership.size, min: this.#size.min })
      if (warning && (verdict !== 'used up' || maxRestart > 0)) emit({ kind: 'warning', message: warning })
      if (verdict !== 'again') return code
      if (isSpread) await setTimeout(Math.min(FIRST_WAIT_MS * 2 ** this.#gathering.attempts++, LAST_WAIT_MS))
      if (signal.aborted) return code
      emit({ kind: 'notice', message: this.#text(event, before.size) })
      this.forget()
      await this.begin()
    }
  }

  /** What has ended this start; undefined: all is trained. */
  #event(code: number | undefined): MembershipEvent | undefined {
    const { signal, isSpread = false, gatherMs = GATHER_MS } = this.#options
    const { logs, workerLogs = logs } = this.#job
    const notes = readNotes(logs)
    // Whether a cut is whole, the process that saves it knows: on several hosts it may be another's.
    this.#saved += isSpread ? notes.further : notes.saved
    this.#isSaved ||= notes.isSaved
    // Also of a start that was killed before it could say so.
    this.#beginsAnew ||= notes.isRestartable
    if (this.#gathering.attempts === 0 || notes.further > 0) this.#gathering = { since: performance.now(), attempts: 0 }
    const failedLog = this.#job.failedLog?.()
    const isLost = failedLog !== undefined && readNotes([failedLog]).isLost
    // The others are not all there yet: no failure of this start.
    const isGathering = isSpread && isLost && this.#gathering.attempts > 0
    const isLate = performance.now() - this.#gathering.since >= gatherMs
    const ended = { code, saved: this.#saved, aborted: signal.aborted, isLost }
    const end: JobEnd = {
      ...ended,
      isEarly: isGathering && !isLate,
      isLeft: isGathering && isLate && !notes.isRestartable,
    }
    const isMember = failedLog === undefined || workerLogs.includes(failedLog)
    const members = this.#joining
    this.#joining = 0
    if (!signal.aborted && (members > 0 || STOPPED.has(code)) && notes.done === workerLogs.length) return undefined
    if (members > 0) return { kind: 'joined', members, end }
    if (STOPPED.has(code) && notes.isStopped) return { kind: 'left', members: isMember ? 1 : 0, end }
    return { kind: 'failed', isMember, end }
  }

  /** Whether so many more may join; then all stop at a cut, and go on together. */
  #join(workers: number): string | undefined {
    const { emit, signal } = this.#options
    const { max } = this.#size
    const { size } = this.#membership
    if (signal.aborted) return 'The job is about to end.'
    if (roomIn(this.#membership, this.#size) < this.#joining + workers)
      return `The job has ${size + this.#joining} workers, and may have ${max} (--worker_num).`
    if (!readNotes(this.#job.logs).isRestartable)
      return 'The job does not train yet, or is of a kind that makes no cuts. Try again once it trains.'
    this.#joining += workers
    const message = `A worker joins: the job is saved, stops, and goes on with ${size + this.#joining} workers.`
    emit({ kind: 'notice', message })
    this.#stop.abort()
    return undefined
  }

  /** Why it is started again, in one line. */
  #text({ kind }: MembershipEvent, before: number): string {
    const { isSpread = false, maxRestart = MAX_RESTART, workers } = this.#options
    const { size, starts } = this.#membership
    const from = fromWhere(this.#isSaved, isSpread)
    const now = workers && isElastic(workers) ? `${size} of ${workers.min}:${workers.max} workers` : undefined
    if (now && size > before) return `Going on ${from} with ${now}: ${size - before} joined.`
    if (now && size < before) return `Going on ${from} with ${now}: ${before - size} left.`
    if (kind === 'left') return `Starting again ${from}.`
    return `Starting again ${from}: ${starts.failed} of ${maxRestart} times since it.`
  }
}

function fromWhere(isSaved: boolean, isSpread: boolean): string {
  if (isSaved) return 'from the last cut'
  // The first worker's host knows.
  return isSpread ? 'with the other hosts' : 'from the beginning, there is no cut yet'
}

export const GO_ON =
  'Once the cause is found, the same command with --resume goes on from the last cut, or the last epoch that was saved.'

interface Facts {
  readonly maxRestart: number
  readonly size: number
  readonly min: number
}

/** Of an end that is none in good order. */
const WARNINGS: { readonly [V in NextMembership['verdict']]?: (facts: Facts) => string } = {
  left: () =>
    `Processes of other hosts did not come back: their launchers have ended, or their hosts are gone. The job ends here too. ${GO_ON}`,
  'used up': ({ maxRestart }) => `The job was started again ${maxRestart} times without a new cut, and ends. ${GO_ON}`,
  'too few': ({ size, min }) =>
    `${size} ${size === 1 ? 'worker is' : 'workers are'} left, and the job needs ${min} (--worker_num): it ends. What it has learned is saved; the same command with --resume goes on from there.`,
}
