/** @file Jobs as batch jobs of Slurm: it chooses the nodes, and mpirun within its allocation starts the ranks. Logs lie in the job's folder, which nodes must see. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { jobFolder, readRequest, writeStatus, writeWhole } from './job-folder.ts'
import { sizeOf } from './jobs.ts'
import { type RunMpiOptions, runMpirun } from './run-mpi.ts'
import { slurm } from './slurm-command.ts'

export interface RunSlurmOptions {
  /** Of the job. */
  readonly folder: string
  readonly env: Env
  readonly signal: AbortSignal
  /** It may have been submitted by a supervisor that is gone. @default false */
  readonly again?: boolean
}

const POLL_MS = 500
const SILENT_MS = 5000 // a controller that does not answer is asked less often
/** Reasons that pass only when somebody changes the cluster. */
const NEVER = ['PartitionNodeLimit', 'PartitionTimeLimit', 'BadConstraints']

/** Resolves to the exit code of the batch job, or undefined when it was asked to stop. */
export async function runSlurm(
  { folder, env, signal, again = false }: RunSlurmOptions,
  emit: EventSink,
): Promise<number | undefined> {
  const id = (again ? await submitted(folder, env) : undefined) ?? (await submitBatch(folder, env))
  const say = (message: string) => emit({ kind: 'notice', message })
  say(again ? `It goes on as job ${id} of Slurm` : `Slurm has it as job ${id}`)
  const stop = () => void slurm('scancel', [id], env).catch((error: Error) => say(error.message))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  for (let told = ''; ; ) {
    const state = await stateOf(id, folder, env)
    const waits = waitsFor(id, state)
    if (waits !== told) {
      const phase = waits === '' ? { phase: 'running' as const } : { phase: 'queued' as const, reason: waits }
      if (state) writeStatus(folder, { ...phase, processes: [] })
      if (waits !== '') say(waits)
      told = waits
    }
    if (state && NEVER.includes(state.waiting)) {
      await slurm('scancel', [id], env)
      throw new UserError(`Slurm cannot give the job its nodes: ${state.waiting}.`, {
        code: 'SUBMIT_SLURM',
        hint: 'sinfo shows what the partition has: ask for fewer nodes, or name another partition by SBATCH_PARTITION.',
      })
    }
    if (state?.isOver) return signal.aborted ? undefined : endOf(id, state, emit)
    await new Promise((done) => setTimeout(done, state ? POLL_MS : SILENT_MS))
  }
}

/** What the batch job runs on its first node: mpirun; number and exit code are left for a supervisor that comes later. */
export async function runBatch(options: RunMpiOptions): Promise<number | undefined> {
  const { folder, env } = options
  writeWhole(idFile(folder), env['SLURM_JOB_ID'])
  const code = await runMpirun(options)
  writeWhole(codeFile(folder), code ?? STOPPED)
  return code
}

const STOPPED = 143
const idFile = (folder: string) => join(folder, 'slurm-job.json')
const codeFile = (folder: string) => join(folder, 'slurm-code.json')
const readNote = (file: string) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined)

async function submitBatch(folder: string, env: Env): Promise<string> {
  const request = readRequest(folder)
  const words = batchWords({ name: request.name, nodes: sizeOf(request), folder })
  const script = `#!/bin/sh\nexec oarfish cloud ranks '${folder.replaceAll("'", String.raw`'\''`)}'\n`
  const [id = ''] = (await slurm('sbatch', words, env, script)).trim().split(';')
  writeWhole(idFile(folder), id)
  return id
}

/** The batch job of a folder; one that has just been submitted is found by its comment. */
async function submitted(folder: string, env: Env): Promise<string | undefined> {
  const noted: string | undefined = readNote(idFile(folder))
  if (noted !== undefined) return noted
  const lines = (await slurm('squeue', ['--noheader', '--format=%i %k'], env)).split('\n')
  return lines.find((line) => line.trimEnd().endsWith(` ${folder}`))?.split(' ')[0]
}

/** Undefined where Slurm does not answer now. */
async function stateOf(id: string, folder: string, env: Env): Promise<SlurmState | undefined> {
  try {
    return parseState(await slurm('scontrol', ['show', 'job', id, '--oneliner'], env))
  } catch (error) {
    const code: number | undefined = readNote(codeFile(folder))
    // Slurm forgets jobs a few minutes after their end.
    if (code !== undefined) return { ...FORGOTTEN, name: code === 0 ? 'COMPLETED' : 'FAILED', exitCode: code }
    if (/Invalid job id/i.test((error as Error).message)) throw error
    return undefined
  }
}

const FORGOTTEN = { isOver: true, waiting: '', nodes: '' }

function waitsFor(id: string, state: SlurmState | undefined): string {
  if (!state) return `Slurm does not answer; its job ${id} is asked for again`
  return state.waiting === '' ? '' : `Slurm job ${id} waits: ${state.waiting}`
}

export interface BatchOptions {
  readonly name: string
  readonly nodes: number
  /** Of the job. */
  readonly folder: string
}

/** Flags of sbatch, which takes the script from its input. Partition, account and time limit come from SBATCH_PARTITION and the like. */
export function batchWords({ name, nodes, folder }: BatchOptions): readonly string[] {
  const log = join(jobFolder(folder).logs, 'slurm.0.log')
  return [
    ...['--parsable', `--job-name=${name}`, `--nodes=${nodes}`, '--ntasks-per-node=1'],
    ...[`--output=${log}`, '--open-mode=append', '--no-requeue', `--comment=${folder}`],
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
