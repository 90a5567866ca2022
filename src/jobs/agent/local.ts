/** @file All nodes of a job on this host, each in a folder of its own: they exchange their addresses in memory. */
import { join } from 'node:path'
import { collectLogs, type NodeOptions, runNode } from './node.ts'
import { LeftError, rendezvous } from './rendezvous.ts'

export interface LocalOptions extends Pick<NodeOptions, 'job' | 'nodes' | 'env' | 'emit' | 'signal' | 'logs'> {
  /** Gets a folder for each node. */
  readonly folder: string
}

/** Resolves to the exit code of the node that failed first, 0, or undefined when it was asked to stop. */
export async function runNodesHere({ nodes, folder, signal, ...common }: LocalOptions): Promise<number | undefined> {
  const stop = new AbortController()
  const rounds = exchangeAmong(nodes)
  let first: number | undefined
  const fail = (code: number) => {
    first ??= code
    stop.abort()
    rounds.leave()
  }
  const run = async (node: number) => {
    const exchange = rounds.exchange(node)
    const placement = () => rendezvous({ job: common.job, node, host: '127.0.0.1', exchange })
    const own = { node, nodes, folder: join(folder, `node-${node}`), placement, sharesLogs: true, sharesHost: true }
    const code = await runNode({ ...common, ...own, signal: AbortSignal.any([signal, stop.signal]) })
    if (code !== undefined && code !== 0) fail(code)
  }
  const ends = await Promise.allSettled(Array.from({ length: nodes }, (_, node) => run(node).catch(failing(fail))))
  await collectLogs(common).catch((error: Error) => {
    common.emit({ kind: 'warning', message: `The logs were not collected: ${error.message}` })
  })
  // A node that only learned of another's failure has nothing of its own to say.
  const thrown = ends.find((end) => end.status === 'rejected' && !(end.reason instanceof LeftError))
  if (thrown?.status === 'rejected') throw thrown.reason
  return signal.aborted ? undefined : (first ?? 0)
}

const failing = (fail: (code: number) => void) => (error: unknown) => {
  fail(1)
  throw error
}

/** Nodes give texts and wait for those of all; when one leaves, nobody waits any longer. */
function exchangeAmong(nodes: number) {
  const texts = new Map<number, string>()
  let done!: (all: readonly string[]) => void
  let gone!: (error: Error) => void
  const all = new Promise<readonly string[]>((resolve, reject) => {
    done = resolve
    gone = reject
  })
  all.catch(() => undefined)
  return {
    exchange: (node: number) => (text: string) => {
      texts.set(node, text)
      if (texts.size === nodes) done(Array.from({ length: nodes }, (_, i) => texts.get(i)!))
      return all
    },
    leave: () => gone(new LeftError()),
  }
}
