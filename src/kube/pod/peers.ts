/** @file The pods of a job, found by label through the API: no name service has to know them first. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import { isUserError } from '../../util/index.ts'
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
const UNREACHABLE_MS = 2 * 60 * 1000 // a new pod's network may come up after its program

/** Those that run and stay, once there are enough; waits for as long as it takes. */
export async function waitForPods({
  client,
  selector,
  count,
  say,
  signal,
  check,
}: WaitOptions): Promise<readonly V1Pod[]> {
  say(`label selector: ${selector}, desired: ${count}`)
  const patience = new Patience(say)
  let said = -1
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 1.5, SLOWEST_LOOK_MS)) {
    const pods = await patience.of(() => client.list<V1Pod>(RESOURCES.Pod, { labels: selector }))
    check?.(pods?.items ?? [])
    const running = (pods?.items ?? []).filter(runs)
    if (pods && running.length >= count) return running
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

/** Bears with an API server that is away for a moment. */
class Patience {
  readonly #say: (line: string) => void
  #since: number | undefined

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  async of<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await ask()
      this.#since = undefined
      return answer
    } catch (error) {
      const away =
        isUserError(error) && (error.code === 'KUBE_UNREACHABLE' || (error instanceof KubeError && error.status >= 500))
      if (!away || Date.now() - (this.#since ?? Date.now()) > UNREACHABLE_MS) throw error
      if (this.#since === undefined) this.#say(`${error.message} Trying again.`)
      this.#since ??= Date.now()
      return undefined
    }
  }
}
