/** @file Jobs by mpirun: one rank on each node, over a hostfile or within an allocation of Slurm. Placement is mpirun's. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Env } from '../../base/env/index.ts'
import { UserError } from '../../base/util/index.ts'
import { type MpiStep, nodeCommand, taggedFailure } from '../agent/index.ts'
import { jobSize } from '../submit/index.ts'
import type { ApplyContext, Executor } from './executor.ts'
import { jobWithContents, keepLine, readFailure } from './job-folder.ts'
import { lackingNode, type NodeNames, provideNodes, rankWords } from './mpi-package.ts'
import type { CommandStep } from './plan.ts'

export interface MpiFacts {
  /** Which mpirun is on the PATH. */
  readonly family: 'openmpi' | 'mpich'
  readonly hostfile: string | undefined
  /** Variables that ranks on other hosts get from this process's environment; their values are on no command line. */
  readonly variables: readonly string[]
  readonly isRoot: boolean
  /** Of this package. */
  readonly version: string
}

export const mpi: Executor<MpiFacts> = {
  kinds: ['_MPI'],
  atOnce: Number.POSITIVE_INFINITY,
  resumes: false,
  check: async ({ env }) => void findMpirun(env),
  lookUp: async (_job, { env, hostfile, version }) => ({
    family: findMpirun(env),
    hostfile,
    variables: ['PATH', 'OARFISH_JOB_ID', 'OARFISH_FS_UGI'].filter((name) => env[name] !== undefined),
    isRoot: process.getuid?.() === 0,
    version,
  }),
  plan: ({ job }, facts) => {
    const mpirun = (step?: MpiStep): CommandStep => ({
      kind: 'command',
      words: [...FLAGS[facts.family](jobSize(job), facts), ...rankWords(nodeCommand(step), facts.version)],
      input: { kind: step === undefined || step === 'prepare' ? 'job' : 'none' },
      always: step === 'finish',
    })
    // Without servers the trainers are the ranks themselves, between two steps that are ranks as well.
    const isCollective = !job.roles.some(({ name }) => name === 'pserver')
    return { steps: isCollective ? [mpirun('prepare'), mpirun('train'), mpirun('finish')] : [mpirun()] }
  },
  apply: async ({ steps }, context) => {
    let code: number | undefined = 0
    for (const step of steps) {
      if (step.kind !== 'command' || (code !== 0 && !step.always)) continue
      const ended = await runStep(step, step.always ? { ...context, signal: new AbortController().signal } : context)
      if (code === 0) code = ended
    }
    return code
  },
}

const FLAGS: Readonly<Record<MpiFacts['family'], (nodes: number, facts: MpiFacts) => readonly string[]>> = {
  openmpi: (nodes, { hostfile, variables, isRoot }) => [
    ...['mpirun', '-np', String(nodes), '--oversubscribe'],
    ...(isRoot ? ['--allow-run-as-root'] : []),
    ...(hostfile ? ['--hostfile', hostfile, '--map-by', 'node'] : []),
    ...variables.flatMap((name) => ['-x', name]),
  ],
  mpich: (nodes, { hostfile, variables }) => [
    ...['mpirun', '-n', String(nodes)],
    ...(hostfile ? ['-f', hostfile, '-ppn', '1'] : []),
    ...['-genvlist', variables.join(',')],
  ],
}

/** An error that says what to install where there is none. */
function findMpirun(env: Env): MpiFacts['family'] {
  const { stdout, error } = spawnSync('mpirun', ['--version'], { env, encoding: 'utf8' })
  if (error)
    throw new UserError('There is no mpirun on the PATH.', {
      code: 'SUBMIT_MPIRUN',
      hint: 'Install Open MPI (Debian: openmpi-bin) or MPICH (mpich), or run jobs with --executor local.',
    })
  return /Open MPI|open-mpi|OpenRTE/i.test(stdout) ? 'openmpi' : 'mpich'
}

/** Once more where nodes lacked this package and have got it. What ended mpirun is the job's failure, unless a node has told its own. */
async function runStep(step: CommandStep, context: ApplyContext): Promise<number | undefined> {
  const first = await runCommand(step, context)
  if (first.lacking.length > 0) await provideNodes(first.lacking, hostfileOf(step), context)
  const { code, said } = first.lacking.length > 0 ? await runCommand(step, context) : first
  if (code && readFailure(context.folder) === undefined) {
    const text = [`mpirun ended with exit code ${code}${said.length > 0 ? ':' : ''}`, ...said].join('\n')
    for (const line of taggedFailure(text).trimEnd().split('\n')) keepLine(context.folder, line)
  }
  return code
}

const hostfileOf = ({ words }: CommandStep) => {
  const at = words.findIndex((word) => word === '--hostfile' || word === '-f')
  return at < 0 ? undefined : words[at + 1]
}

interface Ran {
  /** Undefined when it was asked to stop. */
  readonly code: number | undefined
  /** The last lines that belong to no log: mpirun's own, else what the nodes said on their way. */
  readonly said: readonly string[]
  /** Nodes without this package. */
  readonly lacking: readonly NodeNames[]
}

const SAID_LINES = 20

/** mpirun hands its input to rank 0; logs of all ranks come back as its output. */
async function runCommand({ words, input }: CommandStep, { job, folder, env, signal }: ApplyContext): Promise<Ran> {
  const lacking: NodeNames[] = []
  if (signal.aborted) return { code: undefined, said: [], lacking }
  // How this process reaches hosts is nothing for the programs of a job.
  const { OARFISH_SSH: _ssh, ...own } = env
  const child = spawn(words[0]!, words.slice(1), { env: own, stdio: ['pipe', 'pipe', 'pipe'] })
  const stop = () => child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  child.stdin.on('error', () => undefined) // it ended before it had read the job, and says why
  child.stdin.end(input.kind === 'job' ? JSON.stringify(jobWithContents(job)) : '')
  const sort = async (stream: Readable): Promise<readonly string[]> => {
    const said: string[] = []
    for await (const line of createInterface({ input: stream })) {
      const node = lackingNode(line)
      if (node !== undefined) lacking.push(node)
      else keepLine(folder, line)
      if (node === undefined && !line.startsWith('@') && /\w/.test(line)) said.push(line)
    }
    return said
  }
  // Open MPI has a stream for itself, but for what ranks print there; a cause is not to drown in what nodes did before and after it.
  const [code, printed, told] = await Promise.all([exitOf(child), sort(child.stdout), sort(child.stderr)])
  const said = told.length > 0 ? told : printed
  return { code: signal.aborted ? undefined : code, said: said.slice(-SAID_LINES), lacking }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => done(code ?? 1))
  })
}
