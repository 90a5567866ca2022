/** @file A node of a job that somebody else drives over its standard streams: the job and what other nodes say come in, logs go out. */
import { once } from 'node:events'
import { join } from 'node:path'
import { KILOBYTE, list, readJson, text } from '../../base/net/index.ts'
import { defined } from '../../base/util/index.ts'
import type { Job } from '../submit/index.ts'
import type { MpiNodeOptions } from './mpi-steps.ts'
import { runNode } from './node.ts'
import { nodeFolders, printing, removeWork } from './node-folders.ts'
import { readNodeTask } from './node-task.ts'
import { placeAgain, rendezvous } from './rendezvous.ts'

/** The first line of the input. Every other answers an exchange: the texts of all nodes, in their order. */
export interface NodeTask {
  readonly job: Job
  readonly jobId: string
  readonly node: number
  readonly nodes: number
  /** Where this node is reached by the others. */
  readonly host: string
  /** Over the input, since command lines and files are for more eyes. */
  readonly fsUgi?: string | undefined
  /** Of the job, over all starts of its agents: by it the job knows what it has saved itself. @default it goes on from nothing by itself */
  readonly uid?: string | undefined
  /** The agent was here before and is gone: what all nodes gave each other then, which the others still go by. @default the first start */
  readonly places?: readonly string[] | undefined
}

export interface RemoteNodeOptions extends Omit<MpiNodeOptions, 'readJob'> {
  readonly input: AsyncIterable<string>
}

const EXCHANGE = '%exchange '

/** What a line of such a node gives to the others, if it does. */
export const exchanged = (line: string) => (line.startsWith(EXCHANGE) ? line.slice(EXCHANGE.length) : undefined)

/** Resolves to the exit code of the node, or undefined when it was asked to stop: by a signal, or by the end of its input. */
export async function runRemoteNode(options: RemoteNodeOptions): Promise<number | undefined> {
  const { print, emit } = options
  const lines = options.input[Symbol.asyncIterator]()
  const first = await lines.next()
  if (first.done) return undefined
  const task = readJson(Buffer.from(first.value), 'task', readNodeTask)
  const { job, jobId, node, nodes, host, fsUgi, uid, places } = task
  const gone = new AbortController()
  const signal = AbortSignal.any([options.signal, gone.signal])
  const answers = answersIn(lines, () => gone.abort())
  const exchange = async (text: string) => {
    print(`${EXCHANGE}${text}\n`)
    return await Promise.race([answers(), stopped(signal)])
  }
  const own = nodeFolders(join(options.folder, `oarfish-${jobId}`), node)
  const variables = defined({ OARFISH_FS_UGI: fsUgi, OARFISH_JOB_UID: uid })
  const env = { ...options.env, OARFISH_JOB_ID: jobId, ...variables }
  const placement = () => (places ? placeAgain(places, node) : rendezvous({ job, node, host, exchange }))
  const place = { folder: own.work, logs: own.logs, sharesHost: job.roles.length > 1 }
  const code = await printing(own.logs, {}, print, () =>
    runNode({ job, node, nodes, placement, emit, signal, env, ...place, isAgain: places !== undefined }),
  ).catch((error: unknown) => {
    if (error === signal.reason) return undefined
    throw error
  })
  removeWork(own.root, job, emit)
  return code
}

const readTexts = list(text(64 * KILOBYTE), 100_000)

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
      waiting.shift()?.(readJson(Buffer.from(line.value), 'exchange', readTexts))
    onEnd()
  }
  void read().catch(onEnd)
  return () => new Promise((answered) => void waiting.push(answered))
}
