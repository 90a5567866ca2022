/**
 * @file A node of a job under mpirun: files and hooks, then its processes, then its output, each under an mpirun of its own. What trains as a rank opens MPI,
 * which a process does once; and where an mpirun ends since one of its ranks died, the same one is run again alone.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '../../base/env/index.ts'
import { type EventSink, forgetNotes, notesOf } from '../../base/event/index.ts'
import { defined } from '../../base/util/index.ts'
import { checkSharedMemory, portFree } from '../launch/index.ts'
import type { Job } from '../submit/index.ts'
import { logSizes } from './logs.ts'
import { agreeOnEnd, openMpiNodes, reportFailure } from './mpi-nodes.ts'
import { finishNode, logOf, prepareNode, runRoles } from './node.ts'
import { nodeFolders, printing, removeWork } from './node-folders.ts'
import { type Placement, rendezvous } from './rendezvous.ts'
import { onDisk } from './stage.ts'

export interface MpiNodeOptions {
  /** Called on rank 0; the other ranks get the job from there. */
  readonly readJob: () => Promise<Job>
  /** Receives a folder for each rank: nodes may share a host. */
  readonly folder: string
  readonly env: Env
  readonly emit: EventSink
  /** Takes the lines of this node's processes, each with the name of its log. */
  readonly print: (line: string) => void
  readonly signal: AbortSignal
}

export const MPI_STEPS = ['prepare', 'train', 'finish'] as const
export type MpiStep = (typeof MPI_STEPS)[number]

type Step = (options: MpiNodeOptions) => Promise<number | undefined>

/** Resolves to the exit code of the step, or undefined when it was asked to stop. */
export async function runMpiStep(step: MpiStep, options: MpiNodeOptions): Promise<number | undefined> {
  return await STEPS[step](options)
}

/** What a step leaves for the next one of its node. */
interface Prepared {
  readonly job: Job
  readonly nodes: number
  /** Addresses are for programs that ask for them; the ranks themselves talk by MPI. */
  readonly placement: Placement
}

const hasServers = ({ roles }: Job) => roles.some(({ name }) => name === 'pserver')

const STEPS: Readonly<Record<MpiStep, Step>> = { prepare, train, finish }

async function prepare({ readJob, folder, env, emit, print }: MpiNodeOptions) {
  const group = await openMpiNodes(env, readJob, emit)
  try {
    const { job, node, nodes, host, exchange } = group
    const { root, work, logs } = nodeFolders(folder, node)
    const failed = (error: unknown) => reportFailure(error, emit)
    const code = await printing(logs, { role: 'before_hook' }, print, async () => {
      // A server beside the trainer: they exchange through the memory of their host.
      if (hasServers(job)) checkSharedMemory({ emit, env: { ...env, ...job.env } })
      return await prepareNode({ job, node, nodes, folder: work, logs, env, emit })
    }).catch(failed)
    const placement = await rendezvous({ job, node, host, exchange })
    const own = placement.own.map((process) => ({ ...process, sockets: [] }))
    for (const { sockets } of placement.own) for (const socket of sockets) socket.close()
    // Contents of files have been written; their names say what the job was given.
    const named = job.files.map(({ name }) => ({ name, content: { text: '' } }))
    const prepared: Prepared = { job: { ...job, files: named }, nodes, placement: { ...placement, own } }
    const path = join(root, 'prepared.json')
    const kept = await onDisk(path, async () => writeFileSync(path, JSON.stringify(prepared), { mode: 0o600 })).catch(
      failed,
    )
    return await agreeOnEnd(group, code || (kept ?? 0))
  } finally {
    await group.close()
  }
}

/** Run again where a rank died: the job goes on from what it has saved under its name, and the logs go on. */
async function train(options: MpiNodeOptions) {
  const { folder, env, print } = options
  const { logs, root } = nodeFolders(folder, rankOf(env))
  const prepared = read(root)
  const own = prepared.placement.own.map((process) => logOf(logs, process))
  const isAgain = own.some((log) => existsSync(log))
  forgetNotes(own)
  const notes = new PrintedNotes(own, print)
  const timer = setInterval(() => notes.print(), NOTES_MS)
  const roles = hasServers(prepared.job) ? runBesideMpi : runAsRanks
  try {
    return await printing(logs, {}, print, () => roles(prepared, options, isAgain), logSizes(logs))
  } finally {
    clearInterval(timer)
    notes.print()
    forgetNotes(own)
  }
}

type RunRoles = (prepared: Prepared, options: MpiNodeOptions, isAgain: boolean) => Promise<number | undefined>

/** The trainer is the rank; where it dies, mpirun ends the others too. */
const runAsRanks: RunRoles = async (prepared, options, isAgain) =>
  await runRoles({ ...rolesOf(prepared, options), isAgain, startsOnce: true })

/** Servers and workers find each other by their addresses, and are started again where they die; their job ends as one of its nodes says. */
const runBesideMpi: RunRoles = async (prepared, options, isAgain) => {
  const { emit, print } = options
  // Those of an earlier mpirun may be about to end.
  for (const { endpoint } of prepared.placement.own) await portFree(endpoint)
  const roles = rolesOf(prepared, options)
  const code = await runRoles({ ...roles, env: withoutMpi(roles.env), isAgain }).catch((error: unknown) =>
    reportFailure(error, emit),
  )
  if (code) print(noteLine(ENDED))
  return code
}

function rolesOf({ job, placement }: Prepared, { folder, env, emit, signal }: MpiNodeOptions) {
  const { work, logs } = nodeFolders(folder, rankOf(env))
  const own = { ...env, ...defined({ OARFISH_JOB_UID: env['OARFISH_JOB_ID'] }) }
  return { job, folder: work, logs, placement: async () => placement, env: own, emit, signal }
}

/** The processes of a node are no ranks of this mpirun: they find each other by their addresses. */
function withoutMpi(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(OMPI|PMIX|PMI|PRTE|ORTE|HYDRA|MPI)_/.test(name)))
}

/** What processes say to their launcher, as lines of what mpirun prints. */
class PrintedNotes {
  readonly #logs: readonly string[]
  readonly #print: (line: string) => void
  #printed = 0

  constructor(logs: readonly string[], print: (line: string) => void) {
    this.#logs = logs
    this.#print = print
  }

  print(): void {
    const all = this.#logs.flatMap(notesOf)
    // Processes that were started again have begun anew to say.
    if (all.length < this.#printed) this.#printed = 0
    for (const note of all.slice(this.#printed)) this.#print(noteLine(note))
    this.#printed = all.length
  }
}

const NOTES_MS = 200
const NOTE = 'note.0'
/** The job has ended by what its processes did, which its nodes have dealt with. */
export const ENDED = 'ended'

/** What a process of the job says to who starts it again, as a line of what mpirun prints. */
export const noteLine = (note: string) => `@${NOTE} ${note}\n`
export const noteOf = (line: string): string | undefined =>
  line.startsWith(`@${NOTE} `) ? line.slice(NOTE.length + 2) : undefined

async function finish({ folder, env, emit, print }: MpiNodeOptions) {
  const node = rankOf(env)
  const { work, logs, root } = nodeFolders(folder, node)
  // It had no room even for that.
  if (!existsSync(join(root, 'prepared.json'))) return 0
  const { job, nodes } = read(root)
  await printing(logs, { role: 'end_hook' }, print, () =>
    finishNode({ job, node, nodes, folder: work, logs, env, emit }),
  )
  removeWork(root, job, emit)
  return 0
}

const read = (root: string) => JSON.parse(readFileSync(join(root, 'prepared.json'), 'utf8')) as Prepared

/** Each launcher has a variable of its own. */
function rankOf(env: MpiNodeOptions['env']): number {
  const names = ['OMPI_COMM_WORLD_RANK', 'PMIX_RANK', 'PMI_RANK', 'SLURM_PROCID']
  return Number(names.map((name) => env[name]).find((value) => value !== undefined) ?? 0)
}
