/** @file The process that runs one job of a server: it outlives the server, and what it writes last is how the job ended. */
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runNodesHere } from '../agent/index.ts'
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import {
  claim,
  isStopAsked,
  jobFolder,
  jobOfFolder,
  type Outcome,
  readFailure,
  readRequest,
  takeOver,
  writeOutcome,
} from './job-folder.ts'
import { sizeOf } from './jobs.ts'
import { runPods } from './kubernetes.ts'
import { runMpirun } from './run-mpi.ts'
import { runSsh } from './run-ssh.ts'
import { runSlurm } from './slurm.ts'

export interface SuperviseJobOptions {
  readonly folder: string
  readonly executor: ExecutorName
  /** Of mpirun and of ssh. */
  readonly hostfile?: string | undefined
  /** On Kubernetes: where jobs lie, whatever they say. */
  readonly namespace?: string | undefined
  /** Of this package. */
  readonly version: string
  readonly env: Env
  readonly signal: AbortSignal
}

/** Their jobs go on without a supervisor: one that comes later follows them. */
const RESUMING: readonly ExecutorName[] = ['kubernetes', 'slurm']

/** Does nothing where the job was started before, unless it goes on and has lost its supervisor. */
export async function superviseCloudJob(options: SuperviseJobOptions): Promise<void> {
  const { folder, executor } = options
  const again = !claim(folder)
  if (again && !(RESUMING.includes(executor) && takeOver(folder))) return
  const signal = isStopAsked(folder) ? AbortSignal.abort() : options.signal
  const { logs } = jobFolder(folder)
  mkdirSync(logs, { recursive: true })
  const said = recorder(join(logs, 'job.log'))
  try {
    const code = await RUN[executor]({ ...options, again, signal }, said.emit)
    writeOutcome(folder, outcomeOf(code, said.failure() ?? readFailure(folder)))
  } catch (error) {
    said.emit({ kind: 'error', code: 'CLOUD_JOB', message: (error as Error).message })
    writeOutcome(folder, { phase: 'failed', reason: (error as Error).message })
  }
}

export const EXECUTOR_NAMES = ['local', 'mpi', 'slurm', 'ssh', 'kubernetes'] as const
export type ExecutorName = (typeof EXECUTOR_NAMES)[number]

type Run = (options: SuperviseJobOptions & { readonly again: boolean }, emit: EventSink) => Promise<number | undefined>

const RUN: Readonly<Record<ExecutorName, Run>> = {
  local: async ({ folder, env, signal }, emit) => {
    const request = readRequest(folder)
    const { logs, work } = jobFolder(folder)
    return await runNodesHere({
      job: jobOfFolder(folder),
      nodes: sizeOf(request),
      folder: work,
      logs,
      env,
      emit,
      signal,
    })
  },
  mpi: runMpirun,
  slurm: runSlurm,
  ssh: async (options, emit) => await runSsh({ ...options, emit }),
  kubernetes: async (options, emit) => await runPods({ ...options, emit }),
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
