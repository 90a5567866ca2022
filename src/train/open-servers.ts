/** @file A worker's way to its servers: it waits for those that are not up yet, until it is told to stop. */
import { ServerGroup } from '../ps/index.ts'

/** Aborting `signal` ends the wait, with its reason. Once the servers are there it is the work's own to end in good order. */
export async function openServers(
  options: Parameters<typeof ServerGroup.open>[0],
  signal: AbortSignal | undefined,
): Promise<ServerGroup> {
  const waiting = new AbortController()
  const stop = () => waiting.abort(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  try {
    return await ServerGroup.open({ ...options, signal: waiting.signal })
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
