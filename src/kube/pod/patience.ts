/** @file Asking an API server that may be away for a moment: a pod's network may come up after its program. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isUserError } from '../../util/index.ts'
import type { KubeClient } from '../client.ts'
import { KubeError } from '../errors.ts'

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
