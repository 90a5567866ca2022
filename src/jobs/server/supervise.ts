/** @file The process that runs one job of a server: it outlives the server, and what it writes last is how the job ended. */
import { appendFileSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { EventSink } from '../../base/event/index.ts'
import {
  claim,
  type ExecutorName,
  executorOf,
  type FactOptions,
  isStopAsked,
  jobFolder,
  jobOfFolder,
  type Outcome,
  planJob,
  readFailure,
  takeOver,
  timed,
  writeOutcome,
} from '../executors/index.ts'
import { type Job, wallTimeOf } from '../submit/index.ts'

export interface SuperviseJobOptions extends Omit<FactOptions, 'isServed'> {
  readonly folder: string
  readonly executor: ExecutorName
  readonly signal: AbortSignal
}

/** Does nothing where the job was started before, unless it goes on and has lost its supervisor. */
export async function superviseCloudJob(options: SuperviseJobOptions): Promise<void> {
  const { folder } = options
  const executor = executorOf(options.executor)
  const again = !claim(folder)
  if (again && !(executor.resumes && takeOver(folder))) return
  const { logs } = jobFolder(folder)
  mkdirSync(logs, { recursive: true })
  const said = recorder(join(logs, 'job.log'))
  const target = { job: jobOfFolder(folder), folder }
  const limit = wallLimit(target.job, folder)
  const signal = isStopAsked(folder) ? AbortSignal.abort() : AbortSignal.any([options.signal, limit.signal])
  try {
    const plan = await planJob(options.executor, target, { ...options, isServed: true })
    const code = await executor.apply(plan, { ...options, ...target, again, signal, emit: said.emit })
    if (code === undefined && limit.signal.aborted) said.emit({ kind: 'error', code: 'CLOUD_JOB', message: limit.says })
    const isLate = code === undefined && limit.signal.aborted
    writeOutcome(
      folder,
      isLate ? { phase: 'failed', reason: limit.says } : outcomeOf(code, said.failure() ?? readFailure(folder)),
    )
  } catch (error) {
    said.emit({ kind: 'error', code: 'CLOUD_JOB', message: (error as Error).message })
    writeOutcome(folder, { phase: 'failed', reason: (error as Error).message })
  } finally {
    limit.clear()
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Ends a job whose time is over. It counts from when the job was first started, whoever follows it now. */
function wallLimit({ wallSeconds }: Job, folder: string) {
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    const left = statSync(join(folder, 'job.json')).mtimeMs + wallSeconds! * 1000 - Date.now()
    if (left <= 0) over.abort()
    else timer = setTimeout(wait, Math.min(left, LONGEST_TIMER_MS))
  }
  if (wallSeconds !== undefined) wait()
  const says = `its wall time of ${wallTimeOf(wallSeconds ?? 0)} is over: it was ended (--mpi-wall-time, or wall_time of job.sh)`
  return { signal: over.signal, says, clear: () => clearTimeout(timer) }
}

function outcomeOf(code: number | undefined, failure: string | undefined): Outcome {
  if (code === undefined) return { phase: 'stopped' }
  return code === 0 ? { phase: 'succeeded' } : { phase: 'failed', reason: failure ?? `exit code ${code}` }
}

/** What the nodes say goes to job.log; of failures the first is kept, with its last lines. */
function recorder(log: string): { readonly emit: EventSink; failure(): string | undefined } {
  let failure: string | undefined
  const append = (text: string) => appendFileSync(log, timed(text))
  return {
    failure: () => failure,
    emit: (event) => {
      if (event.kind === 'process') append(`${event.role} ${event.rank} (pid ${event.pid}): ${event.state}`)
      if (event.kind === 'notice' || event.kind === 'warning') append(event.message)
      if (event.kind !== 'error') return
      const text = [event.message, event.hint].filter(Boolean).join('\n')
      append(text)
      failure ??= text
    },
  }
}
