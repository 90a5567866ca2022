/** @file The state of a job, from what makes its pods and from the pods themselves. Pure. */
import type { CoreV1Event, V1Job, V1Pod } from '@kubernetes/client-node'
import type { PodFramework } from '../../base/config/index.ts'
import type { JobPhase, JobStatus } from '../submit/index.ts'
import type { KubeObject } from './client.ts'
import { podIdentity } from './render/names.ts'
import { troubleOf } from './troubles.ts'

export interface Observed {
  readonly jobs: readonly KubeObject[]
  readonly pods: readonly V1Pod[]
  readonly events: readonly CoreV1Event[]
}

export function statusOf(framework: PodFramework, { jobs, pods, events }: Observed): JobStatus {
  const phase = PHASES[framework](jobs)
  const reason = phase === 'succeeded' ? undefined : (troubleOf(pods, events) ?? messageOf(jobs))
  return {
    phase,
    reason,
    processes: pods
      .map((pod) => processOf(pod, events))
      .sort((a, b) => (a.role === b.role ? a.rank - b.rank : a.role < b.role ? -1 : 1)),
  }
}

function processOf(pod: V1Pod, events: readonly CoreV1Event[]): JobStatus['processes'][number] {
  const { role, rank } = podIdentity(pod)
  const host = pod.spec?.nodeName
  const exitCode = pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode
  const phase = POD_PHASES[pod.status?.phase ?? ''] ?? 'queued'
  const placed = phase === 'queued' && host !== undefined ? 'starting' : phase
  return { role, rank, host, phase: placed, exitCode, pod: pod.metadata?.name, events: eventsOf(pod, events) }
}

const MOST_EVENTS = 20

/** Of one pod, oldest first: what the cluster says of where it is put, its image, its volumes, its end. */
function eventsOf(pod: V1Pod, events: readonly CoreV1Event[]): NonNullable<JobStatus['processes'][number]['events']> {
  return events
    .filter(({ involvedObject }) => involvedObject.kind === 'Pod' && involvedObject.name === pod.metadata?.name)
    .map(({ type = 'Normal', reason = '', message = '', count = 1, ...times }) => {
      const at = times.lastTimestamp ?? times.eventTime ?? times.metadata.creationTimestamp
      return { at: new Date(at ?? 0).getTime(), type, reason, message: message.slice(0, MOST_CHARACTERS), count }
    })
    .sort((a, b) => a.at - b.at)
    .slice(-MOST_EVENTS)
}

const MOST_CHARACTERS = 1000

const POD_PHASES: Readonly<Record<string, JobPhase>> = { Running: 'running', Succeeded: 'succeeded', Failed: 'failed' }

const PHASES: Readonly<Record<PodFramework, (jobs: readonly KubeObject[]) => JobPhase>> = {
  volcano: ([job]) => VOLCANO[stateOf(job)?.state?.phase ?? ''] ?? 'queued',
  paddlejob: ([job]) => PADDLE[stateOf(job)?.phase ?? ''] ?? 'queued',
  job: plainPhase,
}

interface State {
  readonly phase?: string
  readonly state?: { readonly phase?: string; readonly message?: string }
}

const stateOf = (job: KubeObject | undefined) => (job as { readonly status?: State } | undefined)?.status

const messageOf = ([job]: readonly KubeObject[]) => stateOf(job)?.state?.message || undefined

const VOLCANO: Readonly<Record<string, JobPhase>> = {
  Pending: 'queued',
  Running: 'running',
  Restarting: 'running',
  Completing: 'running',
  Completed: 'succeeded',
  Failed: 'failed',
  Terminating: 'running',
  Terminated: 'stopped',
  Aborting: 'running',
  Aborted: 'stopped',
}

const PADDLE: Readonly<Record<string, JobPhase>> = {
  Pending: 'queued',
  Starting: 'starting',
  Running: 'running',
  Restarting: 'running',
  Scaling: 'running',
  Completing: 'running',
  Completed: 'succeeded',
  Succeed: 'succeeded',
  Failed: 'failed',
  Terminated: 'stopped',
  Aborted: 'stopped',
}

/** Done when the trainers are; failed as soon as one of the Jobs has. */
function plainPhase(jobs: readonly KubeObject[]): JobPhase {
  const all = jobs as readonly (KubeObject & V1Job)[]
  const has = (job: V1Job | undefined, type: string) =>
    job?.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
  if (all.some((job) => has(job, 'Failed'))) return 'failed'
  const trainers = all.find(({ metadata }) => metadata.name.endsWith('-trainer'))
  if (has(trainers, 'Complete')) return 'succeeded'
  return all.some(({ status }) => (status?.ready ?? 0) > 0) ? 'running' : 'queued'
}
