/** @file A job on the cluster, watched until it is over: its logs kept, what happens to its pods said in lines. */
import { setMaxListeners } from 'node:events'
import type { CoreV1Event, V1Job, V1Pod } from '@kubernetes/client-node'
import type { PodFramework } from '../../base/config/index.ts'
import { isOver, type JobStatus, type Restart } from '../submit/index.ts'
import type { KubeClient, KubeObject, Selection } from './client.ts'
import { KubeError } from './errors.ts'
import { mirror } from './mirror.ts'
import { RESOURCES, type Resource } from './paths.ts'
import { openPodLogs } from './pod-logs.ts'
import { JOB_LABEL, podIdentity } from './render/names.ts'
import { type Observed, statusOf } from './status.ts'
import { byEnd, failureOf } from './troubles.ts'

/** A job that was submitted. */
export interface KubeJob {
  readonly name: string
  readonly namespace: string
  readonly framework: PodFramework
  /** Of what makes its pods: another job may get its name later. */
  readonly uids: readonly string[]
}

export interface FollowOptions {
  readonly client: KubeClient
  readonly job: KubeJob
  /** Receives `trainer.0.log` and the others. */
  readonly logs: string
  readonly say: (line: string) => void
  /** After every change. */
  readonly onStatus?: (status: JobStatus) => void
  /** As far as they are known from whoever followed it before. */
  readonly restarts?: readonly Restart[] | undefined
  /** Ends following; the job goes on, unless `end` ends it. */
  readonly signal: AbortSignal
  /** Called then; what pods print until it has resolved is kept. */
  readonly end?: () => Promise<void>
}

export interface KubeOutcome {
  readonly phase: 'succeeded' | 'failed' | 'stopped'
  readonly reason?: string | undefined
}

export const JOB_RESOURCES: Readonly<Record<PodFramework, Resource>> = {
  volcano: RESOURCES.VolcanoJob,
  job: RESOURCES.Job,
  paddlejob: RESOURCES.PaddleJob,
}

export const jobSelection = (name: string): Selection => ({ labels: `${JOB_LABEL}=${name}` })

const LOGS_MS = 15_000

/** Undefined when `signal` ended it first. */
export async function followJob(options: FollowOptions): Promise<KubeOutcome | undefined> {
  const { client, job, say } = options
  const stop = new AbortController()
  const signal = AbortSignal.any([options.signal, stop.signal])
  setMaxListeners(0, signal, stop.signal) // every pod's log listens: Node would warn of the eleventh
  const podLogs = openPodLogs({ client, folder: options.logs, signal: options.end ? stop.signal : signal, say })
  const report = reporter(say, options.restarts ?? [])
  try {
    const status = await untilOver({ client, job, signal, say }, (observed, now) => {
      podLogs.follow(observed.pods)
      report.changes(observed, now)
      options.onStatus?.({ ...now, restarts: report.restarts() })
    })
    if (!status) {
      await options.end?.()
      if (options.end) await podLogs.settled(LOGS_MS)
      return undefined
    }
    // The job's end may be known before that of its pods: what they printed last is not to be missed.
    const { items: pods } = await client.list<V1Pod>(RESOURCES.Pod, jobSelection(job.name))
    if (status !== DELETED) {
      podLogs.follow(pods)
      report.changes({ jobs: [], pods, events: [] }, status)
      options.onStatus?.({ ...status, restarts: report.restarts() })
    }
    if (job.framework === 'job') await endOthers(client, job)
    await podLogs.settled(LOGS_MS)
    const reason = status.phase === 'failed' ? (report.failure() ?? status.reason) : status.reason
    return { phase: status.phase as KubeOutcome['phase'], reason }
  } finally {
    stop.abort()
  }
}

/** Volcano ends the servers with the trainers, and the others with one that fails; plain Jobs know nothing of each other. */
async function endOthers(client: KubeClient, { name }: KubeJob): Promise<void> {
  const { items } = await client.list<KubeObject & V1Job>(RESOURCES.Job, jobSelection(name))
  const active = items.filter(({ status }) => (status?.active ?? 0) > 0)
  await Promise.all(
    active.map(async ({ metadata }) => await client.patch(RESOURCES.Job, metadata.name, { spec: { suspend: true } })),
  )
}

type Watching = Pick<FollowOptions, 'client' | 'job' | 'signal' | 'say'>

/** Three copies of the cluster's objects, looked at as one after each change. */
async function untilOver(
  { client, job, signal, say }: Watching,
  look: (observed: Observed, status: JobStatus) => void,
): Promise<JobStatus | undefined> {
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  const seen: Partial<Observed> = {}
  let last: JobStatus | undefined
  const see = (part: Partial<Observed>) => {
    Object.assign(seen, part)
    const { jobs, pods, events = [] } = seen
    if (!jobs || !pods || last) return
    const observed = { jobs, pods, events }
    const status = jobs.length === 0 ? DELETED : statusOf(job.framework, observed)
    look(observed, status)
    if (!isOver(status.phase)) return
    last = status
    stop.abort()
  }
  const own = { client, signal: both, onAway: (message: string) => say(`${message} Trying again.`) }
  const about = (event: CoreV1Event) => (event.involvedObject.name ?? '').startsWith(`${job.name}`)
  await Promise.all([
    mirror<KubeObject>({
      ...own,
      resource: JOB_RESOURCES[job.framework],
      selection: jobSelection(job.name),
      onChange: (jobs) => see({ jobs: jobs.filter(({ metadata }) => job.uids.includes(metadata.uid ?? '')) }),
    }),
    mirror<V1Pod & KubeObject>({
      ...own,
      resource: RESOURCES.Pod,
      selection: jobSelection(job.name),
      onChange: (pods) => see({ pods }),
    }),
    mirror<CoreV1Event & KubeObject>({
      ...own,
      resource: RESOURCES.Event,
      selection: {},
      onChange: (events) => see({ events: events.filter(about) }),
    }).catch(unlessForbidden),
  ]).finally(() => stop.abort())
  return last
}

/** Events only say more: without the right to see them there is still the rest. */
function unlessForbidden(error: unknown): void {
  if (!(error instanceof KubeError) || error.code !== 'KUBE_FORBIDDEN') throw error
}

const DELETED: JobStatus = { phase: 'stopped', reason: 'It was deleted from the cluster.', processes: [] }

/** Says what is new, and remembers why the first pod of the last start failed: a job that is started again takes its pods away. */
function reporter(say: (line: string) => void, before: readonly Restart[]) {
  const said = new Map<string, string>()
  const restarts = [...before]
  let failure: string | undefined
  let start: string | undefined
  const once = (about: string, line: string) => {
    if (said.get(about) === line) return
    said.set(about, line)
    say(line)
  }
  return {
    // Pods of the last start may be gone before they were seen to fail: then why an earlier one did.
    failure: () => failure ?? restarts.findLast(({ reason }) => reason !== undefined)?.reason,
    restarts: () => restarts,
    changes: ({ pods }: Observed, { phase, reason }: JobStatus) => {
      const last = lastStart(pods)
      if (start !== undefined && last.start !== undefined && last.start !== start) {
        restarts.push({ at: last.at, reason: failure })
        say(`all pods are started again${failure === undefined ? '' : `: ${failure}`}`)
        failure = undefined
      }
      start = last.start ?? start
      const failed = byEnd(last.pods).map(failureOf)
      failure = failed.find((text) => text !== undefined) ?? failure
      for (const pod of pods) {
        const { title } = podIdentity(pod)
        const where = pod.spec?.nodeName ? ` on ${pod.spec.nodeName}` : ''
        once(pod.metadata?.uid ?? '', `${title} (${pod.metadata?.name}${where}): ${pod.status?.phase?.toLowerCase()}`)
      }
      if (reason !== undefined) once('reason', reason)
      once('phase', `job: ${phase}`)
    },
  }
}

const VERSION = 'volcano.sh/job-version'

/** Volcano counts the starts of a job, and writes it on each of its pods. */
function lastStart(pods: readonly V1Pod[]) {
  const startOf = ({ metadata }: V1Pod) => metadata?.annotations?.[VERSION]
  const starts = pods.map(startOf).filter((text) => text !== undefined)
  const start = starts.sort((a, b) => Number(a) - Number(b)).at(-1)
  const own = start === undefined ? pods : pods.filter((pod) => startOf(pod) === start)
  const made = own.map(({ metadata }) => new Date(metadata?.creationTimestamp ?? Date.now()).getTime())
  return { start, pods: own, at: Math.min(...made) }
}
