/** @file Jobs by mpirun: one rank on each node, over a hostfile or within an allocation of Slurm. Placement is mpirun's. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { Env } from '../../base/env/index.ts'
import { sumOfNotes } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import { ENDED, MPI_STEPS, type MpiStep, nodeCommand, noteOf, taggedFailure } from '../agent/index.ts'
import { FIRST_START, MAX_RESTART, nextStart } from '../launch/index.ts'
import { jobSize } from '../submit/index.ts'
import type { ApplyContext, Executor } from './executor.ts'
import { forgetFailure, jobWithContents, keepLine, readFailure } from './job-folder.ts'
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
    const mpirun = (step: MpiStep): CommandStep => ({
      kind: 'command',
      words: [...FLAGS[facts.family](jobSize(job), facts), ...rankWords(nodeCommand(step), facts.version)],
      input: { kind: step === 'prepare' ? 'job' : 'none' },
      always: step === 'finish',
      restarts: step === 'train',
    })
    return { steps: MPI_STEPS.map(mpirun) }
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

/** Where a rank dies mpirun ends all of them; a step that restarts is then run again, and goes on from the job's last cut. */
async function runStep(step: CommandStep, context: ApplyContext): Promise<number | undefined> {
  const { folder, signal } = context
  const notes: string[] = []
  for (let starts = FIRST_START; ; ) {
    const ran = await runProvided(step, context)
    notes.push(...ran.notes)
    const { saved, isRestartable } = sumOfNotes(notes)
    const { isLost } = sumOfNotes(ran.notes)
    // Nodes start processes of servers and workers again by themselves: what they end with is the end.
    const end = { code: ran.code, saved, isLost, aborted: signal.aborted || ran.notes.includes(ENDED) }
    const rules = { maxRestart: step.restarts ? MAX_RESTART : 0, resumes: false, beginsAnew: isRestartable }
    const next = nextStart(starts, end, rules)
    if (next.verdict !== 'again') {
      if (ran.code) keepFailure(ran, folder)
      return ran.code
    }
    starts = next.starts
    forgetFailure(folder)
    const from = saved > 0 ? 'from the last cut' : 'from the beginning, there is no cut yet'
    const text = `${endOf(ran)}\nStarting again ${from}: ${starts.failed} of ${MAX_RESTART} times since it.`
    for (const line of text.split('\n')) keepLine(folder, line)
    await setTimeout(Math.min(FIRST_WAIT_MS * 2 ** starts.failed, LAST_WAIT_MS), undefined, { signal }).catch(() => {})
  }
}

/** A host that has just gone is not back at once. */
const [FIRST_WAIT_MS, LAST_WAIT_MS] = [250, 8000]

/** Once more where nodes lacked this package and have got it. */
async function runProvided(step: CommandStep, context: ApplyContext): Promise<Ran> {
  const first = await runCommand(step, context)
  if (first.lacking.length === 0) return first
  await provideNodes(first.lacking, hostfileOf(step), context)
  return await runCommand(step, context)
}

/** What ended mpirun is the job's failure, unless a node has told its own. */
function keepFailure(ran: Ran, folder: string): void {
  if (readFailure(folder) !== undefined) return
  for (const line of taggedFailure(endOf(ran)).trimEnd().split('\n')) keepLine(folder, line)
}

const endOf = ({ code, said }: Ran) =>
  [`mpirun ended with exit code ${code}${said.length > 0 ? ':' : ''}`, ...said].join('\n')

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
  /** What processes of the job say to their launcher. */
  readonly notes: readonly string[]
}

const SAID_LINES = 20

/** mpirun hands its input to rank 0; logs of all ranks come back as its output. */
async function runCommand({ words, input }: CommandStep, { job, folder, env, signal }: ApplyContext): Promise<Ran> {
  const [lacking, notes]: [NodeNames[], string[]] = [[], []]
  if (signal.aborted) return { code: undefined, said: [], lacking, notes }
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
      const [node, note] = [lackingNode(line), noteOf(line)]
      if (node !== undefined) lacking.push(node)
      else if (note !== undefined) notes.push(note)
      else {
        keepLine(folder, line)
        if (!line.startsWith('@') && /\w/.test(line)) said.push(line)
      }
    }
    return said
  }
  // Open MPI has a stream for itself, but for what ranks print there; a cause is not to drown in what nodes did before and after it.
  const [code, printed, told] = await Promise.all([exitOf(child), sort(child.stdout), sort(child.stderr)])
  const said = told.length > 0 ? told : printed
  return { code: signal.aborted ? undefined : code, said: said.slice(-SAID_LINES), lacking, notes }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => done(code ?? 1))
  })
}
