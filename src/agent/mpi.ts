/** @file A node of a job as one rank of mpirun: files, addresses and exit codes travel over MPI, so that nodes need nothing in common but that. */
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { type Group, groupPlan, openGroup } from '../collective/index.ts'
import type { Env } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { Job } from '../submit/index.ts'
import { taggedLines } from './logs.ts'
import { runNode } from './node.ts'
import { meetSeats } from './seats.ts'

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
  const group = await openGroup(groupPlan(env, 'mpi'), (message) => emit({ kind: 'notice', message }))
  try {
    const job = JSON.parse(await share(group, group.rank === 0 ? JSON.stringify(await readJob()) : '')) as Job
    const exchange = async (text: string) => await gather(group, text)
    const host = hostOf(await exchange(hostname()))
    const own = join(folder, `node-${group.rank}`)
    const logs = join(own, 'logs')
    let over = false
    const printing = printAll(
      taggedLines(logs, () => over),
      print,
    )
    const code = await runNode({
      ...{ job, node: group.rank, nodes: group.size, emit, signal, logs },
      seats: () => meetSeats({ job, node: group.rank, host, exchange }),
      folder: join(own, 'work'),
      env: withoutMpi(env),
    }).finally(() => {
      over = true
    })
    await printing
    // Each waits for the others: a rank that left early would take them with it before their output is collected.
    const codes = (await exchange(String(code ?? STOPPED))).map(Number)
    const failed = codes.find((each) => each !== 0 && each !== STOPPED)
    return failed ?? (codes.includes(STOPPED) ? undefined : 0)
  } finally {
    await group.close()
  }
}

const STOPPED = -1

async function printAll(lines: AsyncIterable<string>, print: (line: string) => void): Promise<void> {
  for await (const line of lines) print(line)
}

/** What rank 0 has, on every rank. */
async function share(group: Group, text: string): Promise<string> {
  const bytes = Buffer.from(text)
  const length = new Int32Array([bytes.length])
  await group.broadcast(length)
  const content = group.rank === 0 ? new Uint8Array(bytes) : new Uint8Array(length[0]!)
  await group.broadcast(content)
  return Buffer.from(content).toString('utf8')
}

async function gather(group: Group, text: string): Promise<readonly string[]> {
  const { values, counts } = await group.allGather(new Uint8Array(Buffer.from(text)))
  let from = 0
  return counts.map((count) => {
    from += count
    return Buffer.from(values.slice(from - count, from)).toString('utf8')
  })
}

/** On one host nodes meet on loopback, on several at the first address that others can reach. */
function hostOf(hosts: readonly string[]): string {
  if (new Set(hosts).size === 1) return '127.0.0.1'
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
}

/** The processes of a node are no ranks of this mpirun: they find each other by their addresses. */
function withoutMpi(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(OMPI|PMIX|PMI|PRTE|ORTE|HYDRA|MPI)_/.test(name)))
}
