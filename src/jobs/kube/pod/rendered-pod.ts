/** @file A pod of a job that oarfish itself rendered: what its manifest says, and its rank among the others. */
import type { V1Pod } from '@kubernetes/client-node'
import type { Env } from '../../../base/env/index.ts'
import { UserError } from '../../../base/util/index.ts'
import type { Placement } from '../../agent/index.ts'
import type { RoleName } from '../../submit/index.ts'
import { JOB_LABEL, podIdentity, ROLE_LABEL } from '../render/names.ts'
import { type WaitOptions, waitForPods } from './peers.ts'

export interface RenderedPod {
  readonly job: string
  readonly role: RoleName
  readonly servers: number
  readonly trainers: number
  readonly port: string
  readonly name: string
  readonly namespace: string
  readonly token: string
}

const VARIABLES = {
  job: 'OARFISH_JOB_NAME',
  role: 'OARFISH_ROLE',
  servers: 'OARFISH_PSERVERS',
  trainers: 'OARFISH_TRAINERS',
  port: 'OARFISH_PORT',
  name: 'POD_NAME',
  namespace: 'POD_NAMESPACE',
  token: 'OARFISH_RUN_TOKEN',
} as const satisfies Record<keyof RenderedPod, string>

export function readRenderedPod(env: Env): RenderedPod {
  const missing = Object.values(VARIABLES).filter((name) => !env[name])
  if (missing.length > 0)
    throw new UserError(`${missing.join(', ')}: not set in this pod.`, {
      code: 'KUBE_POD',
      hint: '"oarfish agent kubernetes" is what pods of jobs run that "oarfish run -b" submitted; it is not started by hand.',
    })
  const texts = Object.fromEntries(Object.entries(VARIABLES).map(([key, name]) => [key, env[name]!]))
  const { servers, trainers, ...rest } = texts as Record<keyof RenderedPod, string>
  return { ...rest, role: rest.role as RoleName, servers: Number(servers), trainers: Number(trainers) }
}

/** Waits until all pods of the job run; their numbers are their ranks. */
export async function podPlacement(
  pod: RenderedPod,
  wait: Pick<WaitOptions, 'client' | 'say' | 'signal'>,
): Promise<Placement> {
  const find = async (role: RoleName, count: number) => {
    const selector = `${JOB_LABEL}=${pod.job},${ROLE_LABEL}=${role}`
    return count === 0 ? [] : inOrder(await waitForPods({ ...wait, selector, count }))
  }
  const found = { pserver: await find('pserver', pod.servers), trainer: await find('trainer', pod.trainers) }
  const endpoints = (role: RoleName) => found[role].map(({ status }) => `${status!.podIP}:${pod.port}`)
  const rank = found[pod.role].findIndex(({ metadata }) => metadata!.name === pod.name)
  if (rank < 0) throw notFound(pod, found[pod.role])
  return {
    addresses: { servers: endpoints('pserver'), workers: endpoints('trainer'), workerNum: pod.trainers },
    token: pod.token,
    own: [{ role: ROLES[pod.role], rank, endpoint: endpoints(pod.role)[rank]!, sockets: [] }],
  }
}

const ROLES = { pserver: 'server', trainer: 'worker' } as const

const inOrder = (pods: readonly V1Pod[]) => [...pods].sort((a, b) => podIdentity(a).rank - podIdentity(b).rank)

function notFound({ name, role }: RenderedPod, pods: readonly V1Pod[]): UserError {
  const names = pods.map(({ metadata }) => metadata!.name).join(', ')
  return new UserError(`The pod ${name} is not among those of its role, ${role}: ${names}.`, {
    code: 'KUBE_POD',
    hint: 'More pods have the labels of the job than it has processes: delete the job, and submit it under another name.',
  })
}
