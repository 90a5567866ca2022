/** @file What a supervisor reports in the folder of its job. Its user may have written it: nothing is taken that has not the form. */
import {
  checkMessage,
  fields,
  list,
  number,
  oneOf,
  optional,
  type Reader,
  readJson,
  whole,
} from '../../base/net/index.ts'
import type { JobStatus, PodEvent, Restart } from '../submit/index.ts'

/** How a job ended, as its supervisor saw it. */
export interface Outcome {
  readonly phase: 'succeeded' | 'failed' | 'stopped'
  readonly reason?: string | undefined
}

const [MOST_PROCESSES, MOST_EVENTS, MOST_CHARACTERS] = [100_000, 10_000, 10_000]
/** The server keeps a part of it, in its journal. */
const words: Reader<string> = (value, at) => {
  checkMessage(typeof value === 'string', `${at}: expected a text`)
  return value.slice(0, MOST_CHARACTERS)
}
const reason = optional(words)
const phase = oneOf(['queued', 'starting', 'running', 'succeeded', 'failed', 'stopped'])
const event = fields<PodEvent>({ at: number, type: words, reason: words, message: words, count: number })

const outcome = fields<Outcome>({ phase: oneOf(['succeeded', 'failed', 'stopped']), reason })
const status = fields<JobStatus>({
  phase,
  reason,
  processes: list(
    fields<JobStatus['processes'][number]>({
      role: oneOf(['pserver', 'trainer']),
      rank: whole(0, MOST_PROCESSES),
      host: reason,
      phase,
      exitCode: optional(whole(-(2 ** 31), 2 ** 31)),
      pod: reason,
      events: optional(list(event, MOST_EVENTS)),
    }),
    MOST_PROCESSES,
  ),
  restarts: optional(list(fields<Restart>({ at: number, reason }), MOST_EVENTS)),
})

const DAMAGED: Outcome = { phase: 'failed', reason: 'how it ended cannot be read: its outcome.json is damaged' }

export const parseOutcome = (written: string | undefined): Outcome => parsed(written, outcome) ?? DAMAGED
export const parseStatus = (written: string | undefined): JobStatus | undefined => parsed(written, status)

function parsed<T>(written: string | undefined, read: Reader<T>): T | undefined {
  try {
    return written === undefined ? undefined : readJson(Buffer.from(written), 'report', read)
  } catch {
    return undefined
  }
}
