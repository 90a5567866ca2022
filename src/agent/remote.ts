/** @file A node of a job that somebody else drives over its standard streams: the job and what other nodes say come in, logs go out. */
import { once } from 'node:events'
import { join } from 'node:path'
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import type { Job } from '../submit/index.ts'
import { placeOf, printing, removeWork } from './mpi.ts'
import { runNode } from './node.ts'
import { meetSeats } from './seats.ts'

/** The first line of the input. Every other answers an exchange: the texts of all nodes, in their order. */
export interface NodeTask {
  readonly job: Job
  readonly jobId: string
  readonly node: number
  readonly nodes: number
  /** Where this node is reached by the others. */
  readonly host: string
  /** Over the input, since command lines and files are for more eyes. */
  readonly fsUgi?: string
}

export interface RemoteNodeOptions {
  readonly input: AsyncIterable<string>
  readonly print: (line: string) => void
  /** Gets a folder for the job. */
  readonly folder: string
  readonly env: Env
  readonly emit: EventSink
  readonly signal: AbortSignal
}

const EXCHANGE = '%exchange '

/** What a line of such a node gives to the others, if it does. */
export const exchanged = (line: string) => (line.startsWith(EXCHANGE) ? line.slice(EXCHANGE.length) : undefined)

/** Resolves to the exit code of the node, or undefined when it was asked to stop: by a signal, or by the end of its input. */
export async function runRemoteNode({
  input,
  print,
  emit,
  ...options
}: RemoteNodeOptions): Promise<number | undefined> {
  const lines = input[Symbol.asyncIterator]()
  const first = await lines.next()
  if (first.done) return undefined
  const { job, jobId, node, nodes, host, fsUgi } = JSON.parse(first.value) as NodeTask
  const gone = new AbortController()
  const signal = AbortSignal.any([options.signal, gone.signal])
  const answers = answersIn(lines, () => gone.abort())
  const exchange = async (text: string) => {
    print(`${EXCHANGE}${text}\n`)
    return await Promise.race([answers(), stopped(signal)])
  }
  const own = placeOf(join(options.folder, `oarfish-${jobId}`), node)
  const env = { ...options.env, OARFISH_JOB_ID: jobId, ...(fsUgi !== undefined && { OARFISH_FS_UGI: fsUgi }) }
  const seats = () => meetSeats({ job, node, host, exchange })
  const place = { folder: own.work, logs: own.logs }
  const code = await printing(own.logs, {}, print, () =>
    runNode({ job, node, nodes, seats, emit, signal, env, ...place }),
  ).catch((error: unknown) => {
    if (error === signal.reason) return undefined
    throw error
  })
  removeWork(own.root, job, emit)
  return code
}

/** Rejects when the node is to stop: then nobody answers any more. */
async function stopped(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}

/** Answers come in the order of the questions. */
function answersIn(lines: AsyncIterator<string>, onEnd: () => void): () => Promise<readonly string[]> {
  const waiting: ((texts: readonly string[]) => void)[] = []
  const read = async () => {
    for (let line = await lines.next(); !line.done; line = await lines.next())
      waiting.shift()?.(JSON.parse(line.value) as readonly string[])
    onEnd()
  }
  void read().catch(onEnd)
  return () => new Promise((answered) => void waiting.push(answered))
}
