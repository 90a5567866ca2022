/** @file Names and labels of a job's objects, and which process a pod is by them. Pure. */
import { createHash } from 'node:crypto'
import type { V1Pod } from '@kubernetes/client-node'
import type { Priority } from '../../../base/config/index.ts'
import { groupOf, type RoleName } from '../../submit/index.ts'

export const JOB_LABEL = 'oarfish.dev/job'
export const ROLE_LABEL = 'oarfish.dev/role'

/** So that `NAME-pserver-9999` is still the name of a pod. */
const MAX_NAME = 48

/** Lower case letters, digits and dashes; long names keep a digest, so that two do not become one. */
export function kubeName(name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  // A name that begins with a digit is none for what Volcano makes of it.
  const lettered = /^[a-z]/.test(plain) ? plain : `job-${plain}`
  if (lettered.length <= MAX_NAME) return lettered
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${lettered.slice(0, MAX_NAME - 9).replace(/-+$/, '')}-${digest}`
}

/** A group is a queue of Volcano; where none is named it is the one that is always there. */
export const queueOf = (group: string) => groupOf(group).toLowerCase().replaceAll('_', '-')

export const priorityClassOf = (priority: Priority) => `oarfish-${priority.replace('_', '-')}`

export const labelsOf = (name: string) => ({ [JOB_LABEL]: name })

export interface PodIdentity {
  readonly role: RoleName
  readonly rank: number
  /** `trainer 0`. */
  readonly title: string
}

const INDEX = 'batch.kubernetes.io/job-completion-index'

/** Ranks are the numbers at the end of names, or those that Indexed Jobs give. */
export function podIdentity({ metadata }: V1Pod): PodIdentity {
  const role: RoleName = metadata?.labels?.[ROLE_LABEL] === 'pserver' ? 'pserver' : 'trainer'
  const index = metadata?.annotations?.[INDEX] ?? /-(\d+)$/.exec(metadata?.name ?? '')?.[1] ?? '0'
  return { role, rank: Number(index), title: `${role} ${index}` }
}
