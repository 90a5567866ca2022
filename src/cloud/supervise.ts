/** @file The process that runs one job of a server: it outlives the server, and what it writes last is how the job ended. */
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runNodesHere } from '../agent/index.ts'
import type { Env } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { Job } from '../submit/index.ts'
import { claim, jobFolder, type Outcome, readRequest, writeOutcome } from './job-folder.ts'
import { type JobRequest, sizeOf } from './jobs.ts'

export interface SuperviseJobOptions {
  readonly folder: string
  readonly env: Env
  readonly signal: AbortSignal
}

/** Does nothing where the job was started before. */
export async function superviseCloudJob({ folder, env, signal }: SuperviseJobOptions): Promise<void> {
  if (!claim(folder)) return
  const { logs, work } = jobFolder(folder)
  mkdirSync(logs, { recursive: true })
  const said = recorder(join(logs, 'job.log'))
  try {
    const request = readRequest(folder)
    const job = jobFrom(request, folder)
    const code = await runNodesHere({ job, nodes: sizeOf(request), folder: work, logs, env, emit: said.emit, signal })
    writeOutcome(folder, outcomeOf(code, said.failure()))
  } catch (error) {
    said.emit({ kind: 'error', code: 'CLOUD_JOB', message: (error as Error).message })
    writeOutcome(folder, { phase: 'failed', reason: (error as Error).message })
  }
}

function outcomeOf(code: number | undefined, failure: string | undefined): Outcome {
  if (code === undefined) return { phase: 'stopped' }
  return code === 0 ? { phase: 'succeeded' } : { phase: 'failed', reason: failure ?? `exit code ${code}` }
}

function jobFrom(request: JobRequest, folder: string): Job {
  const { files } = jobFolder(folder)
  return {
    ...request,
    files: request.files.map(({ name }) => ({ name, content: { path: join(files, name) } })),
    secrets: { profile: '', env: [] },
  }
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
