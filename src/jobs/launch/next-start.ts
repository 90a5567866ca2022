/** @file Whether a job whose processes ended is started again: what a launcher decides, without its processes. */

/** What was so far. */
export interface Starts {
  /** Starts after the first. */
  readonly restart: number
  /** Ends since the last cut. */
  readonly failed: number
  /** Cuts that had been saved at the last end. */
  readonly saved: number
}

/** How one start ended. */
export interface JobEnd {
  /** Undefined: it was asked to stop. */
  readonly code: number | undefined
  /** Cuts and epochs that were saved so far, over all starts. */
  readonly saved: number
  /** The process that failed first ended since another of the job is gone. @default false */
  readonly isLost?: boolean
  /** Processes of other hosts have not noticed the end before this one yet: it does not count. @default false */
  readonly isEarly?: boolean
  /** It waited for processes of other hosts as long as these may take to start again, and met none: they will not come. @default false */
  readonly isLeft?: boolean
  /** The launcher itself is asked to stop. */
  readonly aborted: boolean
}

export interface StartRules {
  /** Starts without a new cut between them, after which the job ends. */
  readonly maxRestart: number
  /** The job itself was told to go on from what is saved: there is something to go on from before its first cut. */
  readonly resumes: boolean
  /** Its processes can be started again before there is anything to go on from. @default false */
  readonly beginsAnew?: boolean
}

export interface NextStart {
  readonly starts: Starts
  readonly verdict: 'again' | 'over' | 'used up' | 'left'
}

export const FIRST_START: Starts = { restart: 0, failed: 0, saved: 0 }

const USER_ERROR = 2
const CANNOT_START: ReadonlySet<number> = new Set([126, 127])
const SIGNALS = 128

export function nextStart(before: Starts, end: JobEnd, rules: StartRules): NextStart {
  const { saved, isEarly = false } = end
  const { restart, failed } = before
  const starts = { restart, failed: saved > before.saved ? 1 : failed + (isEarly ? 0 : 1), saved }
  if (!canGoOn(end, rules)) return { starts, verdict: 'over' }
  if (end.isLeft) return { starts, verdict: 'left' }
  if (starts.failed > rules.maxRestart) return { starts, verdict: 'used up' }
  return { starts: { ...starts, restart: restart + 1 }, verdict: 'again' }
}

/** What a user can mend, a process would say again, and so would one that ends by itself before anything is saved. */
function canGoOn(
  { code, saved, isLost = false, aborted }: JobEnd,
  { resumes, beginsAnew = false }: StartRules,
): boolean {
  if (aborted || code === undefined || code === 0 || CANNOT_START.has(code)) return false
  const isSaved = saved > 0 || resumes
  if (code === USER_ERROR && !isLost) return false
  return isSaved || (beginsAnew && (code > SIGNALS || isLost))
}
