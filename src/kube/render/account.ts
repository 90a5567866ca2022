/** @file The service account of a job's pods: it may look at the pods of its namespace, to find its own, and at nothing else. Pure. */
import type { KubeObject } from '../client.ts'
import { labelsOf } from './names.ts'

export function accountOf(name: string): readonly KubeObject[] {
  const metadata = { name, labels: labelsOf(name) }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: RBAC,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }],
    },
    {
      apiVersion: RBAC,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name }],
    },
  ] as readonly KubeObject[]
}

const RBAC = 'rbac.authorization.k8s.io/v1'
