/** @file A collective job whose hosts come and go: at each change all ranks stop at a cut, the hosts meet again, and go on with those who are there. */
import { forgetNotes, readNotes } from '../../base/event/index.ts'
import { isUserError } from '../../base/util/index.ts'
import type { JobPlacement, LaunchCollectiveOptions } from './launch-collective.ts'
import { firstMembership, type MembershipEvent, nextMembership } from './membership.ts'
import { GO_ON, type Restart } from './recover.ts'
import type { Change } from './rendezvous.ts'
import type { RunningJob } from './supervise.ts'

/** What a meeting of hosts begins with. */
export interface Meeting {
  readonly timeoutMs: number
  /** Of the membership before; 0 for a host that comes for the first time. */
  readonly number: number
  /** Hosts that will come: once they have, nobody else is waited for. @default not known */
  readonly expected?: number | undefined
  /** Ranks of this host. */
  readonly processes: number
  /** This host knows of something to go on from. */
  readonly resumes?: boolean | undefined
}

/** Ranks of this host between two changes. */
export interface Run extends RunningJob {
  readonly logs: readonly string[]
  /** Asks them to end in good order; kills those that take longer. */
  stop(waitMs: number): Promise<unknown>
}

export interface ElasticOptions {
  readonly meet: (meeting: Meeting) => Promise<JobPlacement>
  readonly begin: (placement: JobPlacement, restart: Restart) => Run
}

const FIND_MS = 15 * 60 * 1000
const FIND_AGAIN_MS = 30 * 1000
const LOST_MS = 3000 // ranks whose peers are gone cannot save
const STOP_MS = 30_000
const FAILED = 1
const STOPPED: ReadonlySet<number | undefined> = new Set([130, 143])

type Ended = { readonly kind: 'ended'; readonly code: number | undefined } | ({ readonly kind: 'changed' } & Change)

/** Resolves once the first ranks run. */
export async function elasticJob(options: LaunchCollectiveOptions, how: ElasticOptions): Promise<RunningJob> {
  const hosts = new ElasticHosts(options, how)
  await hosts.meet(FIND_MS)
  return { ended: hosts.run(), kill: () => hosts.kill() }
}

class ElasticHosts {
  readonly #options: LaunchCollectiveOptions
  readonly #how: ElasticOptions
  #placement: JobPlacement | undefined
  #run!: Run
  #membership
  #processes: number
  #expected: number | undefined
  #why = ''
  #saved = 0
  #isSaved = false
  #isRestartable = false

  constructor(options: LaunchCollectiveOptions, how: ElasticOptions) {
    this.#options = options
    this.#how = how
    this.#processes = options.layout.devices.length
    this.#membership = firstMembership(options.layout.nodes.max)
  }

  kill(): void {
    this.#run.kill()
  }

  /** Hosts meet; then the ranks of this one run. */
  async meet(timeoutMs: number): Promise<void> {
    const { number, starts } = this.#membership
    const isFirst = starts.restart === 0
    // What does not say that it can be started again is told to go on as well.
    const knows = !isFirst && (this.#isSaved || !this.#isRestartable)
    const meeting = { timeoutMs, number, expected: this.#expected, processes: this.#processes, resumes: knows }
    this.#placement?.found?.leave(this.#why)
    this.#placement = await this.#how.meet(meeting)
    const { nodes, found } = this.#placement
    const { resumes } = found!
    this.#isSaved ||= resumes
    this.#membership = { ...this.#membership, number: found!.number, size: nodes.length }
    const from = resumes ? 'from the last cut' : 'from the beginning, there is no cut yet'
    if (!isFirst) this.#notice(`Going on ${from} with ${this.#sizeText()}.`)
    this.#run = this.#how.begin(this.#placement, { number: starts.restart, resumes })
  }

  async run(): Promise<number | undefined> {
    const { layout, emit } = this.#options
    for (;;) {
      const ended: Ended = await Promise.race([
        this.#placement!.found!.changed.then((change) => ({ kind: 'changed', ...change }) as const),
        this.#run.ended.then((code) => ({ kind: 'ended', code }) as const),
      ])
      // The others learn of it first, so that all stop together.
      const why = ended.kind === 'changed' ? ended.why : undefined
      if (why !== undefined)
        this.#notice(`${why}: all ranks stop${ended.kind === 'changed' && ended.inOrder ? ' at a cut' : ''}.`)
      if (why !== undefined) this.#announce(why)
      if (ended.kind === 'changed') await this.#run.stop(ended.inOrder ? STOP_MS : LOST_MS)
      const event = this.#event(ended)
      if (event === 'done') return this.#end(undefined, 0)
      const rules = { maxRestart: layout.maxRestart, resumes: this.#isSaved, beginsAnew: true }
      // How many hosts there are, and whether enough, they find out when they meet.
      const { membership, verdict } = nextMembership(this.#membership, event, { ...rules, min: 0, max: 0 })
      const code = ended.kind === 'ended' ? ended.code : FAILED
      if (this.#options.signal.aborted) return this.#end('it was asked to stop', undefined)
      if (this.#processes === 0) {
        this.#notice('No rank is left on this host: it leaves the job.')
        return this.#end('it was asked to stop', code)
      }
      if (verdict !== 'again') {
        if (verdict === 'used up')
          emit({
            kind: 'warning',
            message: `Started again ${layout.maxRestart} times without a new cut: this host leaves the job. ${GO_ON}`,
          })
        return this.#end('it starts no more', code)
      }
      this.#membership = membership
      if (why === undefined) this.#announce(event.kind === 'left' ? STOPPED_TEXT : `a rank failed (exit code ${code})`)
      forgetNotes(this.#run.logs)
      try {
        await this.meet(Math.max(layout.elasticTimeoutMs, FIND_AGAIN_MS))
      } catch (error) {
        if (isUserError(error))
          emit({ kind: 'warning', message: `${why ?? 'The job stopped'}, and not enough hosts are left. ${GO_ON}` })
        throw error
      }
    }
  }

  /** What has ended these ranks, for the machine that decides. */
  #event(ended: Ended): MembershipEvent | 'done' {
    const { logs } = this.#run
    const notes = readNotes(logs)
    this.#saved += notes.further
    this.#isSaved ||= notes.further > 0
    this.#isRestartable ||= notes.isRestartable
    const failedLog = this.#run.failedLog?.()
    const code = ended.kind === 'ended' ? ended.code : undefined
    const isLost = failedLog !== undefined && readNotes([failedLog]).isLost
    const end = { code, saved: this.#saved, aborted: this.#options.signal.aborted, isLost }
    if (notes.done === logs.length || (ended.kind === 'ended' && code === 0 && !notes.isStopped)) return 'done'
    if (ended.kind === 'changed') return { kind: 'joined', members: 0, end }
    if (!STOPPED.has(code) && code !== 0)
      return { kind: 'failed', isMember: true, end: { ...end, isLost: isLost || code !== 2 } }
    // A rank of this host was asked to stop and leaves for good; or one of another host, which says so.
    const isOwn = failedLog !== undefined && STOPPED.has(code)
    if (isOwn) this.#processes--
    return { kind: 'left', members: 0, end }
  }

  /** All are to stop and to meet again. */
  #announce(why: string): void {
    this.#why = why
    this.#expected = this.#placement!.found!.remaining()
    this.#placement!.found!.announce(why)
  }

  #end(why: string | undefined, code: number | undefined): number | undefined {
    this.#placement!.found!.leave(why)
    forgetNotes(this.#run.logs)
    return code
  }

  #sizeText(): string {
    const { nodes } = this.#placement!
    const { min, max } = this.#options.layout.nodes
    const ranks = nodes.flatMap(({ endpoints }) => endpoints).length
    return `${nodes.length} of ${min}:${max} hosts, ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}`
  }

  #notice(message: string): void {
    this.#options.emit({ kind: 'notice', message })
  }
}

const STOPPED_TEXT = 'a rank was asked to stop'
