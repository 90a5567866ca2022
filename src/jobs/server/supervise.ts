/** @file The process that runs one job of a server: it outlives the server, and what it writes last is how the job ended. */
import { appendFileSync, mkdirSync } from 'node:fs'
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
  writeOutcome,
} from '../executors/index.ts'

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
  const signal = isStopAsked(folder) ? AbortSignal.abort() : options.signal
  const { logs } = jobFolder(folder)
  mkdirSync(logs, { recursive: true })
  const said = recorder(join(logs, 'job.log'))
  try {
    const target = { job: jobOfFolder(folder), folder }
    const plan = await planJob(options.executor, target, { ...options, isServed: true })
    const code = await executor.apply(plan, { ...options, ...target, again, signal, emit: said.emit })
    writeOutcome(folder, outcomeOf(code, said.failure() ?? readFailure(folder)))
  } catch (error) {
    said.emit({ kind: 'error', code: 'CLOUD_JOB', message: (error as Error).message })
    writeOutcome(folder, { phase: 'failed', reason: (error as Error).message })
  }
}

function outcomeOf(code: number | undefined, failure: string | undefined): Outcome {
  if (code === undefined) return { phase: 'stopped' }
  return code === 0 ? { phase: 'succeeded' } : { phase: 'failed', reason: failure ?? `exit code ${code}` }
}

/** What the nodes say goes to job.log; of failures the first is kept, with its last lines. */
function recorder(log: string): { readonly emit: EventSink; failure(): string | undefined } {
  let failure: string | undefined
  return {
    failure: () => failure,
    emit: (event) => {
      if (event.kind === 'process')
        appendFileSync(log, `${event.role} ${event.rank} (pid ${event.pid}): ${event.state}\n`)
      if (event.kind === 'notice' || event.kind === 'warning') appendFileSync(log, `${event.message}\n`)
      if (event.kind !== 'error') return
      const text = [event.message, event.hint].filter(Boolean).join('\n')
      appendFileSync(log, `${text}\n`)
      failure ??= text
    },
  }
}
