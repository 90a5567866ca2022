/**
 * @file A node of a collective job under mpirun. Its trainer is the rank itself, and a rank opens MPI once: so what comes before and after it runs
 * under an mpirun of its own.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forgetNotes, notesOf } from '../../base/event/index.ts'
import { defined } from '../../base/util/index.ts'
import type { Job } from '../submit/index.ts'
import { logSizes } from './logs.ts'
import { type MpiNodeOptions, nodeFolders, printing, removeWork } from './mpi.ts'
import { agreeOnEnd, openMpiNodes, reportFailure } from './mpi-nodes.ts'
import { finishNode, prepareNode, runRoles } from './node.ts'
import { type Placement, rendezvous } from './rendezvous.ts'
import { onDisk } from './stage.ts'

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

const STEPS: Readonly<Record<MpiStep, Step>> = { prepare, train, finish }

async function prepare({ readJob, folder, env, emit, print }: MpiNodeOptions) {
  const group = await openMpiNodes(env, readJob, emit)
  try {
    const { job, node, nodes, host, exchange } = group
    const { root, work, logs } = nodeFolders(folder, node)
    const failed = (error: unknown) => reportFailure(error, emit)
    const code = await printing(logs, { role: 'before_hook' }, print, () =>
      prepareNode({ job, node, nodes, folder: work, logs, env, emit }),
    ).catch(failed)
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
async function train({ folder, env, emit, print, signal }: MpiNodeOptions) {
  const { work, logs, root } = nodeFolders(folder, rankOf(env))
  const { job, placement } = read(root)
  const own = placement.own.map(({ rank }) => join(logs, `trainer.${rank}.log`))
  const isAgain = own.some((log) => existsSync(log))
  forgetNotes(own)
  const notes = setInterval(printNotes, NOTES_MS)
  let printed = 0
  function printNotes() {
    const all = own.flatMap(notesOf)
    for (const note of all.slice(printed)) print(noteLine(note))
    printed = all.length
  }
  const common = { ...env, ...defined({ OARFISH_JOB_UID: env['OARFISH_JOB_ID'] }) }
  const place = { job, folder: work, logs, placement: async () => placement, env: common }
  const run = () => runRoles({ ...place, emit, signal, isAgain, startsOnce: true })
  try {
    return await printing(logs, { role: 'trainer' }, print, run, logSizes(logs))
  } finally {
    clearInterval(notes)
    printNotes()
    forgetNotes(own)
  }
}

const NOTES_MS = 200
const NOTE = 'note.0'

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
