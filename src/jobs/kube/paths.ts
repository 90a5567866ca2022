/** @file Where objects lie in the Kubernetes API. Pure. */

/** A kind of object; `plural` as its path has it. */
export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** Without a namespace. */
  readonly ofCluster?: boolean
}

const CORE = 'v1'
const RBAC = 'rbac.authorization.k8s.io/v1'

export const RESOURCES = {
  Pod: { apiVersion: CORE, kind: 'Pod', plural: 'pods' },
  Event: { apiVersion: CORE, kind: 'Event', plural: 'events' },
  ConfigMap: { apiVersion: CORE, kind: 'ConfigMap', plural: 'configmaps' },
  Secret: { apiVersion: CORE, kind: 'Secret', plural: 'secrets' },
  ServiceAccount: { apiVersion: CORE, kind: 'ServiceAccount', plural: 'serviceaccounts' },
  PersistentVolumeClaim: { apiVersion: CORE, kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims' },
  Node: { apiVersion: CORE, kind: 'Node', plural: 'nodes', ofCluster: true },
  SelfSubjectAccessReview: {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    ofCluster: true,
  },
  Role: { apiVersion: RBAC, kind: 'Role', plural: 'roles' },
  RoleBinding: { apiVersion: RBAC, kind: 'RoleBinding', plural: 'rolebindings' },
  Job: { apiVersion: 'batch/v1', kind: 'Job', plural: 'jobs' },
  VolcanoJob: { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', plural: 'jobs' },
  PodGroup: { apiVersion: 'scheduling.volcano.sh/v1beta1', kind: 'PodGroup', plural: 'podgroups' },
  Command: { apiVersion: 'bus.volcano.sh/v1alpha1', kind: 'Command', plural: 'commands' },
  Queue: { apiVersion: 'scheduling.volcano.sh/v1beta1', kind: 'Queue', plural: 'queues', ofCluster: true },
  PriorityClass: {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    plural: 'priorityclasses',
    ofCluster: true,
  },
  PaddleJob: { apiVersion: 'batch.paddlepaddle.org/v1', kind: 'PaddleJob', plural: 'paddlejobs' },
} as const satisfies Readonly<Record<string, Resource>>

/** The resource of an object that says what it is. */
export function resourceOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): Resource {
  const found = Object.values<Resource>(RESOURCES).find((each) => each.apiVersion === apiVersion && each.kind === kind)
  if (!found) throw new Error(`internal: no path is known for ${apiVersion} ${kind}`)
  return found
}

export function pathOf({ apiVersion, plural, ofCluster }: Resource, namespace: string, name?: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const within = ofCluster ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${within}/${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}
