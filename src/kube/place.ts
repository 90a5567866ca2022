/** @file Which process of a job a pod is. Pure. */
import type { V1Pod } from '@kubernetes/client-node'
import type { RoleName } from '../submit/index.ts'
import { ROLE_LABEL } from './render/names.ts'

export interface Place {
  readonly role: RoleName
  readonly rank: number
  /** `trainer 0`. */
  readonly title: string
}

const INDEX = 'batch.kubernetes.io/job-completion-index'

/** Ranks are the numbers at the end of names, or those that Indexed Jobs give. */
export function placeOf({ metadata }: V1Pod): Place {
  const role: RoleName = metadata?.labels?.[ROLE_LABEL] === 'pserver' ? 'pserver' : 'trainer'
  const index = metadata?.annotations?.[INDEX] ?? /-(\d+)$/.exec(metadata?.name ?? '')?.[1] ?? '0'
  return { role, rank: Number(index), title: `${role} ${index}` }
}
