/** @file A job by mpirun: one rank on each node, over a hostfile or within an allocation of Slurm. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { MpiStep } from '../agent/index.ts'
import type { Env } from '../env/index.ts'
import { jobOfFolder, readRequest } from './job-folder.ts'
import { sizeOf } from './jobs.ts'
import { findMpirun, mpirunWords } from './mpirun.ts'
import { keepLine } from './node-output.ts'
import { withContent } from './with-content.ts'

export interface RunMpiOptions {
  /** Of the job. */
  readonly folder: string
  readonly hostfile?: string | undefined
  readonly env: Env
  readonly signal: AbortSignal
}

/** One rank of mpirun is one node. Where there are no servers the trainers are the ranks, between two steps that are ranks as well. */
export async function runMpirun(options: RunMpiOptions): Promise<number | undefined> {
  const isCollective = !readRequest(options.folder).roles.some(({ name }) => name === 'pserver')
  if (!isCollective) return await mpirun(options)
  const prepared = await mpirun(options, 'prepare')
  const code = prepared === 0 ? await mpirun(options, 'train') : prepared
  // Also after a failure, and when the job was stopped.
  const finished = await mpirun({ ...options, signal: new AbortController().signal }, 'finish')
  return code === 0 ? finished : code
}

/** Rank 0 reads the job from its input, which mpirun hands on; logs come back as output. */
async function mpirun({ folder, hostfile, env, signal }: RunMpiOptions, step?: MpiStep) {
  if (signal.aborted) return undefined
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
    for await (const line of createInterface({ input: stream })) keepLine(folder, line)
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
