/** @file Jobs as batch jobs of Slurm: it chooses the nodes, and mpirun within its allocation starts the ranks. Logs lie in the job's folder, which nodes must see. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { Env } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { jobFolder, readRequest, writeStatus } from './job-folder.ts'
import { sizeOf } from './jobs.ts'

export interface RunSlurmOptions {
  /** Of the job. */
  readonly folder: string
  readonly env: Env
  readonly signal: AbortSignal
}

const POLL_MS = 500
/** Reasons that pass only when somebody changes the cluster. */
const NEVER = ['PartitionNodeLimit', 'PartitionTimeLimit', 'BadConstraints']

/** Resolves to the exit code of the batch job, or undefined when it was asked to stop. */
export async function runSlurm({ folder, env, signal }: RunSlurmOptions, emit: EventSink): Promise<number | undefined> {
  const id = await submitBatch(folder, env)
  const say = (message: string) => emit({ kind: 'notice', message })
  say(`Slurm has it as job ${id}`)
  const stop = () => void slurm('scancel', [id], env).catch((error: Error) => say(error.message))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  for (let told = ''; ; ) {
    const state = parseState(await slurm('scontrol', ['show', 'job', id, '--oneliner'], env))
    const waits = state.waiting === '' ? '' : `Slurm job ${id} waits: ${state.waiting}`
    if (waits !== told) {
      const phase = waits === '' ? { phase: 'running' as const } : { phase: 'queued' as const, reason: waits }
      writeStatus(folder, { ...phase, processes: [] })
      if (waits !== '') say(waits)
      told = waits
    }
    if (NEVER.includes(state.waiting)) {
      await slurm('scancel', [id], env)
      throw new UserError(`Slurm cannot give the job its nodes: ${state.waiting}.`, {
        code: 'SUBMIT_SLURM',
        hint: 'sinfo shows what the partition has: ask for fewer nodes, or name another partition by SBATCH_PARTITION.',
      })
    }
    if (state.isOver) return signal.aborted ? undefined : endOf(id, state, emit)
    await new Promise((done) => setTimeout(done, POLL_MS))
  }
}

async function submitBatch(folder: string, env: Env): Promise<string> {
  const request = readRequest(folder)
  const words = batchWords({
    name: request.name,
    nodes: sizeOf(request),
    log: join(jobFolder(folder).logs, 'slurm.0.log'),
  })
  const script = `#!/bin/sh\nexec oarfish cloud ranks '${folder.replaceAll("'", String.raw`'\''`)}'\n`
  const [id = ''] = (await slurm('sbatch', words, env, script)).trim().split(';')
  return id
}

export interface BatchOptions {
  readonly name: string
  readonly nodes: number
  readonly log: string
}

/** Flags of sbatch, which takes the script from its input. Partition, account and time limit come from SBATCH_PARTITION and the like. */
export function batchWords({ name, nodes, log }: BatchOptions): readonly string[] {
  return [
    ...['--parsable', `--job-name=${name}`, `--nodes=${nodes}`, '--ntasks-per-node=1'],
    ...[`--output=${log}`, '--open-mode=append', '--no-requeue'],
  ]
}

export interface SlurmState {
  readonly name: string
  readonly isOver: boolean
  /** Why it has no nodes yet. */
  readonly waiting: string
  readonly exitCode: number
  readonly nodes: string
}

const WAITING = ['PENDING', 'CONFIGURING', 'REQUEUED', 'SUSPENDED']
const LIVE = [...WAITING, 'RUNNING', 'COMPLETING', 'STAGE_OUT', 'SIGNALING', 'RESIZING', 'STOPPED']

/** What `scontrol show job --oneliner` says. */
export function parseState(text: string): SlurmState {
  const value = (key: string) => new RegExp(`(?:^| )${key}=(\\S*)`).exec(text)?.[1] ?? ''
  const name = value('JobState')
  return {
    name,
    isOver: !LIVE.includes(name),
    waiting: WAITING.includes(name) ? value('Reason').replace('None', 'being scheduled') : '',
    exitCode: Number(value('ExitCode').split(':')[0] ?? 1),
    nodes: value('NodeList'),
  }
}

/** A batch job that failed by itself has said why; what Slurm did to it is said here. */
function endOf(id: string, { name, exitCode, nodes }: SlurmState, emit: EventSink): number {
  if (name === 'COMPLETED') return 0
  if (name !== 'FAILED') {
    const message = `Slurm ended job ${id} on ${nodes || 'no node'}: ${name}`
    emit({ kind: 'error', code: 'CLOUD_SLURM', message, hint: `scontrol show job ${id} says more` })
  }
  return exitCode || 1
}

const TIMEOUT_MS = 60_000

function slurm(command: string, words: readonly string[], env: Env, input = ''): Promise<string> {
  return new Promise((done, fail) => {
    const child = execFile(command, [...words], { env, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (!error) done(stdout)
      else
        fail(
          (error as NodeJS.ErrnoException).code === 'ENOENT' ? noSlurm(command) : slurmRefused(command, stderr, error),
        )
    })
    child.stdin!.on('error', () => undefined) // it ended without reading, and says why
    child.stdin!.end(input)
  })
}

/** Throws where there is no Slurm to submit to. */
export async function findSlurm(env: Env): Promise<void> {
  await slurm('sinfo', ['--version'], env)
}

function noSlurm(command: string): UserError {
  return new UserError(`There is no ${command} on the PATH.`, {
    code: 'SUBMIT_SLURM',
    hint: "Install Slurm's commands (Debian: slurm-client), or run jobs with --executor mpi.",
  })
}

function slurmRefused(command: string, stderr: string, cause: Error): UserError {
  const said = stderr.trim().split('\n').join('; ') || cause.message
  return new UserError(`Slurm refused: ${said}.`, {
    code: 'SUBMIT_SLURM',
    hint: `That was ${command}; sinfo shows what the cluster has. SBATCH_PARTITION and SBATCH_ACCOUNT name partition and account.`,
    cause,
  })
}
