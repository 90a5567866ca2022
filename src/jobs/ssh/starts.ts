/** @file A job on hosts over all its starts: where a process dies or a host is gone all are stopped and started again, and go on from what the job has saved. */
import { randomBytes, randomUUID } from 'node:crypto'
import { sumOfNotes } from '../../base/event/index.ts'
import { FIRST_START, MAX_RESTART, nextStart } from '../launch/index.ts'
import type { HostKeeper } from './host-keeper.ts'
import { type JobOutcome, type RunJobOptions, runJob } from './run-job.ts'

export interface StartsOptions extends RunJobOptions {
  /** The hosts of the processes, in the order of their nodes. */
  readonly hosts: HostKeeper
  readonly goingOn: GoingOn
  /** Starts with nothing saved between them, after which the job ends. @default 3 */
  readonly maxRestart?: number | undefined
  /** Called before each start. */
  readonly onStart: () => void
  /** Somebody asks for its end from elsewhere. */
  readonly isStopped: () => boolean
}

/** How a job goes on. */
export interface GoingOn {
  /** Its processes are of those that go on by themselves. */
  readonly byItself: boolean
  /** What they go on from: `cut`, `saved pass`. */
  readonly from: string
  /** It was told to go on from what lies there, whoever saved it. */
  readonly resumes: boolean
  /** What to type once it has ended. */
  readonly typed: (folder: string) => string
}

/** Resolves to the exit code of the last start, or undefined when the job was asked to stop. */
export async function runStarts(options: StartsOptions): Promise<number | undefined> {
  const { hosts, goingOn, emit, signal, isStopped } = options
  const { maxRestart = MAX_RESTART } = options
  const rules = { maxRestart: goingOn.byItself ? maxRestart : 0, resumes: goingOn.resumes, beginsAnew: true }
  const uid = randomUUID()
  let saved = 0
  for (let starts = FIRST_START; ; ) {
    const outcome = await runOnce(options, uid, starts.restart)
    saved += sumOfNotes(outcome.notes).further
    const end = { ...outcome, saved, aborted: signal.aborted || isStopped() }
    const next = nextStart(starts, end, rules)
    if (next.verdict !== 'again') {
      if (next.verdict === 'used up' && rules.maxRestart > 0) emit(usedUp(options, maxRestart))
      if (hosts.lost().length > 0) emit(lostText(options, 'is gone'))
      return outcome.code
    }
    if (!(await hosts.comeBack())) {
      if (signal.aborted) return undefined
      emit(lostText(options, hosts.awayMs > 0 ? `did not come back within ${hosts.awayMs / 1000} s` : 'is gone'))
      return outcome.code
    }
    if (isStopped()) return outcome.code
    starts = next.starts
    const from =
      saved > 0 || goingOn.resumes
        ? `from the last ${goingOn.from}`
        : `from the beginning, there is no ${goingOn.from} yet`
    const message = `Starting again ${from}: ${starts.failed} of ${maxRestart} times since it.`
    emit({ kind: 'notice', message })
  }
}

/** The processes know their job, by which they find what it has saved, and have a secret of this start, by which those of another are kept out. */
async function runOnce(options: StartsOptions, uid: string, restart: number): Promise<JobOutcome> {
  const { hosts, processes, emit, onStart } = options
  onStart()
  const env = {
    OARFISH_JOB_UID: uid,
    OARFISH_JOB_TOKEN: randomBytes(32).toString('hex'),
    ...(restart > 0 ? { OARFISH_RESTART: String(restart) } : {}),
  }
  const started = processes.map((each) => ({ ...each, host: hosts.now(each.host), env: { ...each.env, ...env } }))
  try {
    return await runJob({ ...options, processes: started, goesOn: restart > 0 })
  } catch (error) {
    // A host that went before its processes were started.
    if (hosts.lost().length === 0) throw error
    emit({ kind: 'error', code: 'SSH_LOST', message: (error as Error).message })
    return { code: 1, isLost: true, notes: [] }
  }
}

const usedUp = ({ goingOn, folder }: StartsOptions, times: number) => {
  const message = `The job was started again ${times} times without a new ${goingOn.from}, and ends. ${goingOn.typed(folder)}`
  return { kind: 'warning', message } as const
}

function lostText({ hosts, goingOn, job, folder }: StartsOptions, what: string) {
  const names = hosts.lost().map((node) => hosts.all[node]!.host.name)
  const stop = `What runs there still is ended by: oarfish stop ${job}`
  return {
    kind: 'error',
    code: 'SSH_LOST',
    message: [`${names.join(', ')} ${what}, and the job ends.`, ...hosts.reasons()].join('\n'),
    hint: goingOn.byItself ? `${stop}. ${goingOn.typed(folder)}` : stop,
  } as const
}
