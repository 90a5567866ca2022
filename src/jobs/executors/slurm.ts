/** @file Jobs as batch jobs of Slurm: it chooses the nodes, and mpirun within its allocation starts the ranks. Logs lie in the job's folder, which nodes must see. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { shellLine, UserError } from '../../base/util/index.ts'
import { ranksCommand } from '../agent/index.ts'
import { DEFAULT_WALL_SECONDS, type Job, jobSize, wallTimeOf } from '../submit/index.ts'
import type { ApplyContext, Executor } from './executor.ts'
import { jobFolder, jobOfFolder, writeStatus, writeWhole } from './job-folder.ts'
import { mpi } from './mpi.ts'
import type { CommandStep, Plan } from './plan.ts'

export const slurm: Executor<undefined> = {
  kinds: ['_MPI'],
  atOnce: Number.POSITIVE_INFINITY,
  resumes: true,
  check: async ({ env }) => await findSlurm(env),
  lookUp: async () => undefined,
  plan: ({ job, folder }) => ({
    steps: [
      {
        kind: 'command',
        words: ['sbatch', ...batchFlags(job, folder)],
        input: { kind: 'text', text: `#!/bin/sh\nexec ${shellLine(ranksCommand(folder))}\n` },
        always: false,
      },
    ],
  }),
  apply: async (plan, context) => {
    const { folder, env, emit, again } = context
    const id = (again ? await submitted(folder, env) : undefined) ?? (await submitBatch(plan, folder, env))
    emit({ kind: 'notice', message: again ? `It goes on as job ${id} of Slurm` : `Slurm has it as job ${id}` })
    return await followBatch(id, context)
  },
}

/** sbatch takes the script from its input. Partition, account and time limit come from SBATCH_PARTITION and the like. */
function batchFlags(job: Job, folder: string): readonly string[] {
  const log = join(jobFolder(folder).logs, 'slurm.0.log')
  return [
    ...['--parsable', `--job-name=${job.name}`, `--nodes=${jobSize(job)}`, '--ntasks-per-node=1'],
    ...timeLimit(job),
    ...[`--output=${log}`, '--open-mode=append', '--no-requeue', `--comment=${folder}`],
  ]
}

/** Slurm's own to hold. That which job.sh has unless somebody changes it is more than most partitions allow, and theirs holds. */
const timeLimit = ({ wallSeconds }: Job) =>
  wallSeconds === undefined || wallSeconds === DEFAULT_WALL_SECONDS ? [] : [`--time=${wallTimeOf(wallSeconds)}`]

async function submitBatch({ steps }: Plan, folder: string, env: Env): Promise<string> {
  const { words, input } = steps[0] as CommandStep
  const script = input.kind === 'text' ? input.text : ''
  const [id = ''] = (await slurmCommand(words[0]!, words.slice(1), env, script)).trim().split(';')
  writeWhole(idFile(folder), id)
  return id
}

const POLL_MS = 500
const SILENT_MS = 5000 // a controller that does not answer is asked less often
/** Reasons that pass only when somebody changes the cluster. */
const NEVER = ['PartitionNodeLimit', 'PartitionTimeLimit', 'BadConstraints']

type FollowOptions = Pick<ApplyContext, 'folder' | 'env' | 'signal' | 'emit'>

/** Resolves to the exit code of the batch job, or undefined when it was asked to stop. */
async function followBatch(id: string, { folder, env, signal, emit }: FollowOptions): Promise<number | undefined> {
  const say = (message: string) => emit({ kind: 'notice', message })
  const stop = () => void slurmCommand('scancel', [id], env).catch((error: Error) => say(error.message))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  for (let said = '', phase: 'queued' | 'running' = 'queued'; ; ) {
    const state = await stateOf(id, folder, env)
    const waits = waitsFor(id, state)
    if (waits !== said) {
      if (state) phase = waits === '' ? 'running' : 'queued'
      writeStatus(folder, { phase, processes: [], ...(waits === '' ? {} : { reason: waits }) })
      if (waits !== '') say(waits)
      said = waits
    }
    if (state && NEVER.includes(state.waiting)) {
      await slurmCommand('scancel', [id], env)
      throw new UserError(`Slurm cannot give the job its nodes: ${state.waiting}.`, {
        code: 'SUBMIT_SLURM',
        hint: 'sinfo shows what the partition has: ask for fewer nodes, or name another partition by SBATCH_PARTITION.',
      })
    }
    if (state?.isOver) return signal.aborted ? undefined : endOf(id, state, emit)
    await new Promise((done) => setTimeout(done, state ? POLL_MS : SILENT_MS))
  }
}

export type BatchOptions = Pick<ApplyContext, 'folder' | 'env' | 'version' | 'signal'>

/** What the batch job runs on its first node: mpirun; number and exit code are left for a supervisor that comes later. */
export async function runBatch(options: BatchOptions): Promise<number | undefined> {
  const { folder, env } = options
  writeWhole(idFile(folder), env['SLURM_JOB_ID'])
  const job = jobOfFolder(folder)
  const plan = mpi.plan({ job, folder }, await mpi.lookUp(job, options))
  const code = await mpi.apply(plan, { ...options, job, emit: () => undefined, again: false })
  writeWhole(codeFile(folder), code ?? STOPPED)
  return code
}

const STOPPED = 143
const idFile = (folder: string) => join(folder, 'slurm-job.json')
const codeFile = (folder: string) => join(folder, 'slurm-code.json')
const readNote = (file: string) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined)

/** The batch job of a folder; one that has just been submitted is found by its comment. */
async function submitted(folder: string, env: Env): Promise<string | undefined> {
  const noted: string | undefined = readNote(idFile(folder))
  if (noted !== undefined) return noted
  const lines = (await slurmCommand('squeue', ['--noheader', '--format=%i %k'], env)).split('\n')
  return lines.find((line) => line.trimEnd().endsWith(` ${folder}`))?.split(' ')[0]
}

/** Undefined where Slurm does not answer now. */
async function stateOf(id: string, folder: string, env: Env): Promise<SlurmState | undefined> {
  try {
    return parseState(await slurmCommand('scontrol', ['show', 'job', id, '--oneliner'], env))
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

/** What a command of Slurm prints. */
export function slurmCommand(command: string, words: readonly string[], env: Env, input = ''): Promise<string> {
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
  await slurmCommand('sinfo', ['--version'], env)
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
