/** @file The pods of a job, found by label through an API server that may be away for a moment: no name service has to know them first. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import { isUserError } from '../../../base/util/index.ts'
import type { KubeClient } from '../client.ts'
import { KubeError } from '../errors.ts'
import { RESOURCES } from '../paths.ts'

export interface WaitOptions {
  readonly client: Pick<KubeClient, 'list'>
  readonly selector: string
  /** How many must run. */
  readonly count: number
  readonly say: (line: string) => void
  readonly signal: AbortSignal
  /** Sees all of them at every look; may throw to give up. */
  readonly check?: (pods: readonly V1Pod[]) => void
}

const FIRST_LOOK_MS = 250
const SLOWEST_LOOK_MS = 5000

/** Those that run and stay, once there are enough; waits for as long as it takes. */
export async function waitForPods(options: WaitOptions): Promise<readonly V1Pod[]> {
  const { client, selector, count, say, signal, check } = options
  say(`label selector: ${selector}, desired: ${count}`)
  let said = -1
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 1.5, SLOWEST_LOOK_MS)) {
    const { items } = await client.list<V1Pod>(RESOURCES.Pod, { labels: selector })
    check?.(items)
    const running = items.filter(runs)
    if (running.length >= count) return running
    // Every look at first, then only what is new: a job may wait for hours.
    if (said !== running.length || wait === SLOWEST_LOOK_MS)
      say(`current cnt: ${running.length} sleep for ${(wait / 1000).toFixed(2)} seconds...`)
    said = running.length
    await sleep(wait, undefined, { signal })
  }
}

/** A pod that is being deleted has its address for a while, but not for long enough. */
export function runs({ status, metadata }: V1Pod): boolean {
  return status?.phase === 'Running' && status.podIP !== undefined && metadata?.deletionTimestamp === undefined
}

const AWAY_MS = 2 * 60 * 1000
const AGAIN_MS = 1000

/** The same client, whose `list` asks again until there is an answer; two minutes without one are an error. */
export function patient<C extends Pick<KubeClient, 'list'>>(
  client: C,
  { say, signal }: { readonly say: (line: string) => void; readonly signal: AbortSignal },
): C {
  const list: KubeClient['list'] = async (resource, selection) => {
    for (const begin = Date.now(); ; await sleep(AGAIN_MS, undefined, { signal })) {
      try {
        return await client.list(resource, selection)
      } catch (error) {
        if (!isAway(error) || Date.now() - begin > AWAY_MS) throw error
        say(`${error.message} Trying again.`)
      }
    }
  }
  return { ...client, list }
}

function isAway(error: unknown): error is Error {
  return (
    isUserError(error) && (error.code === 'KUBE_UNREACHABLE' || (error instanceof KubeError && error.status >= 500))
  )
}
