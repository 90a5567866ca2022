/** @file A node of a job as one rank of mpirun: files, addresses and exit codes travel over MPI, so that nodes need nothing in common but that. */
import { rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Env } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import type { Job } from '../submit/index.ts'
import { type LogSelection, type LogSizes, taggedLines } from './logs.ts'
import { agreeOnEnd, LOOPBACK, openMpiNodes, reportFailure } from './mpi-nodes.ts'
import { runNode } from './node.ts'
import { LeftError, rendezvous } from './rendezvous.ts'

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

/** Resolves, on every rank alike, to the exit code of the node that failed, 0, or undefined when the job was asked to stop. */
export async function runMpiNode({ readJob, print, ...options }: MpiNodeOptions): Promise<number | undefined> {
  const { folder, env, emit, signal } = options
  const group = await openMpiNodes(env, readJob, emit)
  try {
    const { job, node, nodes, host, exchange } = group
    const own = nodeFolders(folder, node)
    // A server beside the trainer, or all nodes on one host.
    const sharesHost = job.roles.length > 1 || host === LOOPBACK
    const place = { folder: own.work, logs: own.logs, sharesHost }
    let isReady = false
    const placement = async () => {
      isReady = true
      const all = await exchange(READY)
      if (all.some((word) => word !== READY)) throw new LeftError()
      return await rendezvous({ job, node, host, exchange })
    }
    const run = () => runNode({ job, node, nodes, placement, emit, signal, ...place, env: withoutMpi(env) })
    const code = await printing(own.logs, {}, print, run).catch((error: unknown) =>
      error instanceof LeftError ? undefined : reportFailure(error, emit),
    )
    // The others wait for it in their rendezvous.
    if (!isReady) await exchange('failed')
    removeWork(own.root, job, emit)
    return await agreeOnEnd(group, code)
  } finally {
    await group.close()
  }
}

const READY = 'ready'

export function nodeFolders(folder: string, node: number) {
  const root = join(folder, `node-${node}`)
  return { root, work: join(root, 'work'), logs: join(root, 'logs') }
}

/** Does the work while its logs are printed. */
export async function printing<T>(
  logs: string,
  selection: LogSelection,
  print: (line: string) => void,
  work: () => Promise<T>,
  from?: LogSizes,
): Promise<T> {
  let over = false
  const printed = printAll(
    taggedLines(logs, selection, () => over, { from }),
    print,
  )
  try {
    return await work()
  } finally {
    over = true
    await printed
  }
}

async function printAll(lines: AsyncIterable<string>, print: (line: string) => void): Promise<void> {
  for await (const line of lines) print(line)
}

/** Nothing stays on a node whose output was collected; where there is no place for it, it stays, and where is said. */
export function removeWork(root: string, { data }: Job, emit: EventSink): void {
  if (data.fileSystem !== undefined && data.output !== undefined) {
    rmSync(root, { recursive: true, force: true })
    try {
      rmdirSync(dirname(root))
    } catch {
      // Another node of the job is on this host.
    }
  } else emit({ kind: 'notice', message: `there is no output_path: what the job wrote stays in ${root}` })
}

/** The processes of a node are no ranks of this mpirun: they find each other by their addresses. */
function withoutMpi(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(OMPI|PMIX|PMI|PRTE|ORTE|HYDRA|MPI)_/.test(name)))
}
