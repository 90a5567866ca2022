/** @file The queue of Volcano that a group of users is: its manifest, and making it. */
import type { KubeClient, KubeObject } from './client.ts'
import { KubeError } from './errors.ts'
import { RESOURCES } from './paths.ts'
import { queueOf } from './render/names.ts'

const queueOfGroup = (group: string): KubeObject & { readonly spec: object } => ({
  apiVersion: RESOURCES.Queue.apiVersion,
  kind: RESOURCES.Queue.kind,
  metadata: { name: queueOf(group) },
  spec: { weight: 1, reclaimable: true },
})

/** What a person may apply, with kubectl as it is. */
export const queueManifest = (group: string) =>
  `kubectl apply -f - <<'END'
apiVersion: ${RESOURCES.Queue.apiVersion}
kind: ${RESOURCES.Queue.kind}
metadata:
  name: ${queueOf(group)}
spec:
  weight: 1
  reclaimable: true
END`

/** False where it was there already. */
export async function makeQueue(client: Pick<KubeClient, 'create'>, group: string): Promise<boolean> {
  try {
    await client.create(queueOfGroup(group))
    return true
  } catch (error) {
    if (error instanceof KubeError && error.status === 409) return false
    throw error
  }
}
