/** @file The nodes of a job as ranks of MPI: what one has reaches all, and where each is found. */
import { hostname } from 'node:os'
import type { Env } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { BadMessage, MAX_FRAME_BYTES, reachableAddress, readBrought, readJson, whole } from '../../base/net/index.ts'
import { isUserError } from '../../base/util/index.ts'
import { type Group, groupPlan, openGroup } from '../../training/collective/index.ts'
import type { Job } from '../submit/index.ts'
import { readJob as readJobOfRank0 } from './node-task.ts'

export interface MpiNodes {
  readonly job: Job
  readonly node: number
  readonly nodes: number
  /** Where this node is reached by the others. */
  readonly host: string
  /** Every node gives a text and gets those of all, in order of nodes. */
  readonly exchange: (text: string) => Promise<readonly string[]>
  close(): Promise<void>
}

/** Opens MPI; rank 0 reads the job and gives it to the others. */
export async function openMpiNodes(env: Env, readJob: () => Promise<Job>, emit: EventSink): Promise<MpiNodes> {
  const group = await openGroup(groupPlan(env, 'mpi'), (message) => emit({ kind: 'notice', message }))
  try {
    const shared = await share(group, group.rank === 0 ? JSON.stringify(await readJob()) : '')
    const job = readBrought('rank 0', () => readJson(Buffer.from(shared), 'the job', readJobOfRank0))
    const exchange = async (text: string) => await gather(group, text)
    const host = hostOf(await exchange(hostname()))
    return { job, node: group.rank, nodes: group.size, host, exchange, close: async () => await group.close() }
  } catch (error) {
    await group.close(error as Error).catch(() => undefined)
    throw error
  }
}

/**
 * What a node throws is printed and becomes its exit code: a rank that simply left would leave the others waiting. A bug keeps its stack in
 * the node's own output.
 */
export function reportFailure(error: unknown, emit: EventSink): number {
  const { message, stack = message } = error as Error
  if (isUserError(error)) emit({ kind: 'error', code: error.code, message, hint: error.hint })
  else emit({ kind: 'error', code: 'AGENT_NODE', message: stack })
  return isUserError(error) ? 2 : 1
}

const STOPPED = -1

/**
 * The end of the job, the same on every node: the exit code of the node that failed, 0, or undefined when it was asked to stop. Each waits for
 * the others: a rank that left early would take them with it before their output is collected.
 */
export async function agreeOnEnd({ exchange }: MpiNodes, code: number | undefined): Promise<number | undefined> {
  const codes = (await exchange(String(code ?? STOPPED))).map((text, rank) =>
    readBrought(`rank ${rank}`, () => readExitCode(text)),
  )
  const failed = codes.find((each) => each !== 0 && each !== STOPPED)
  return failed ?? (codes.includes(STOPPED) ? undefined : 0)
}

function readExitCode(text: string): number {
  if (/^(-1|\d{1,3})$/.test(text)) return Number(text)
  throw new BadMessage(`its end: expected an exit code, got ${JSON.stringify(text.slice(0, 80))}`)
}

const readLength = whole(2, MAX_FRAME_BYTES)

/** What rank 0 has, on every rank. */
export async function share(group: Pick<Group, 'rank' | 'broadcast'>, text: string): Promise<string> {
  const bytes = Buffer.from(text)
  const length = new Int32Array([bytes.length])
  await group.broadcast(length)
  const size = readBrought('rank 0', () => readLength(length[0], 'the bytes of the job'))
  const content = group.rank === 0 ? new Uint8Array(bytes) : new Uint8Array(size)
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

export const LOOPBACK = '127.0.0.1'

/** On one host nodes are reached on loopback, on several at the first address that others can reach. */
function hostOf(hosts: readonly string[]): string {
  return new Set(hosts).size === 1 ? LOOPBACK : reachableAddress()
}
