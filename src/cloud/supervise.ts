/** @file The process that runs one job of a server: it outlives the server, and what it writes last is how the job ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type MpiStep, runNodesHere, untagged } from '../agent/index.ts'
import type { Env } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { Job } from '../submit/index.ts'
import { claim, jobFolder, jobOfFolder, type Outcome, readRequest, takeOver, writeOutcome } from './job-folder.ts'
import { sizeOf } from './jobs.ts'
import { runPods } from './kubernetes.ts'
import { findMpirun, mpirunWords } from './mpirun.ts'

export interface SuperviseJobOptions {
  readonly folder: string
  readonly executor: ExecutorName
  /** Of mpirun. */
  readonly hostfile?: string | undefined
  /** On Kubernetes: where jobs lie, whatever they say. */
  readonly namespace?: string | undefined
  /** Of this package. */
  readonly version: string
  readonly env: Env
  readonly signal: AbortSignal
}

/** Does nothing where the job was started before, but for one on Kubernetes that lost its supervisor: it is followed again. */
export async function superviseCloudJob(options: SuperviseJobOptions): Promise<void> {
  const { folder, executor } = options
  if (!claim(folder) && !(executor === 'kubernetes' && takeOver(folder))) return
  const { logs } = jobFolder(folder)
  mkdirSync(logs, { recursive: true })
  const said = recorder(join(logs, 'job.log'))
  try {
    const code = await RUN[executor](options, said.emit)
    writeOutcome(folder, outcomeOf(code, said.failure()))
  } catch (error) {
    said.emit({ kind: 'error', code: 'CLOUD_JOB', message: (error as Error).message })
    writeOutcome(folder, { phase: 'failed', reason: (error as Error).message })
  }
}

export const EXECUTOR_NAMES = ['local', 'mpi', 'kubernetes'] as const
export type ExecutorName = (typeof EXECUTOR_NAMES)[number]

type Run = (options: SuperviseJobOptions, emit: EventSink) => Promise<number | undefined>

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
  kubernetes: async (options, emit) => await runPods({ ...options, emit }),
}

/** One rank of mpirun is one node. Where there are no servers the trainers are the ranks, between two steps that are ranks as well. */
async function runMpirun(options: SuperviseJobOptions): Promise<number | undefined> {
  const isCollective = !readRequest(options.folder).roles.some(({ name }) => name === 'pserver')
  if (!isCollective) return await mpirun(options)
  const prepared = await mpirun(options, 'prepare')
  const code = prepared === 0 ? await mpirun(options, 'train') : prepared
  // Also after a failure, and when the job was stopped.
  const finished = await mpirun({ ...options, signal: new AbortController().signal }, 'finish')
  return code === 0 ? finished : code
}

/** Rank 0 reads the job from its input, which mpirun hands on; logs come back as output. */
async function mpirun({ folder, hostfile, env, signal }: SuperviseJobOptions, step?: MpiStep) {
  if (signal.aborted) return undefined
  const { logs } = jobFolder(folder)
  const words = mpirunWords(
    {
      nodes: sizeOf(readRequest(folder)),
      hostfile,
      variables: ['PATH', 'OARFISH_JOB_ID', 'OARFISH_FS_UGI'].filter((name) => env[name] !== undefined),
      command: ['oarfish', 'cloud', 'node', ...(step === undefined ? [] : ['--step', step])],
      isRoot: process.getuid?.() === 0,
    },
    findMpirun(env),
  )
  const child = spawn(words[0]!, words.slice(1), { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const stop = () => child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  child.stdin.on('error', () => undefined) // it ended before it had read the job, and says why
  child.stdin.end(step === undefined || step === 'prepare' ? JSON.stringify(withContent(jobOfFolder(folder))) : '')
  const sort = async (stream: Readable) => {
    for await (const line of createInterface({ input: stream })) {
      const { log, text } = untagged(line)
      appendFileSync(join(logs, `${log}.log`), `${text}\n`)
    }
  }
  const [code] = await Promise.all([exitOf(child), sort(child.stdout), sort(child.stderr)])
  return signal.aborted ? undefined : code
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => done(code ?? 1))
  })
}

/** Files as text they can travel in. */
function withContent(job: Job): Job {
  const files = job.files.map(({ name, content }) => ({
    name,
    content: 'path' in content ? { base64: readFileSync(content.path).toString('base64') } : content,
  }))
  return { ...job, files }
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
