/** @file A copy of some objects of the cluster that follows their changes: a list, then a watch, again and again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isUserError } from '../../base/util/index.ts'
import type { KubeClient, KubeObject, Selection } from './client.ts'
import { KubeError } from './errors.ts'
import type { Resource } from './paths.ts'

export interface MirrorOptions<T> {
  readonly client: Pick<KubeClient, 'list' | 'watch'>
  readonly resource: Resource
  readonly selection: Selection
  readonly signal: AbortSignal
  /** After the first list, and after every change. */
  readonly onChange: (objects: readonly T[]) => void
  /** Called once each time the cluster is out of reach; following goes on when it is back. */
  readonly onAway: (message: string) => void
}

const AGAIN_MS = 1000
const SLOWEST_MS = 30_000 // a cluster may be away for days

/** Until `signal`; rejects where the cluster refuses, as opposed to being away. */
export async function mirror<T extends Partial<KubeObject>>(options: MirrorOptions<T>): Promise<void> {
  const { client, resource, selection, signal, onChange, onAway } = options
  const objects = new Map<string, T>()
  let away = 0 // tries since it was last there
  while (!signal.aborted) {
    try {
      const { items, metadata } = await client.list<T>(resource, selection)
      away = 0
      objects.clear()
      for (const object of items) objects.set(object.metadata?.uid ?? '', object)
      onChange([...objects.values()])
      const version = metadata.resourceVersion
      for await (const event of client.watch<T>(resource, { ...selection, version }, signal)) {
        if (event.type === 'DELETED') objects.delete(event.object.metadata?.uid ?? '')
        else objects.set(event.object.metadata?.uid ?? '', event.object)
        onChange([...objects.values()])
      }
    } catch (error) {
      if (signal.aborted) return
      if (!mayComeBack(error)) throw error
      if (away++ === 0) onAway((error as Error).message)
      await sleep(Math.min(AGAIN_MS * away, SLOWEST_MS), undefined, { signal }).catch(() => undefined)
    }
  }
}

const mayComeBack = (error: unknown) =>
  !isUserError(error) || error.code === 'KUBE_UNREACHABLE' || (error instanceof KubeError && error.status >= 500)
