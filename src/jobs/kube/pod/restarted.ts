/** @file A program that the kubelet started again in its old pod: what it had learned is gone, so its job is stopped instead of going on wrong. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1ContainerStatus, V1OwnerReference, V1Pod } from '@kubernetes/client-node'
import { isUserError, UserError } from '../../../base/util/index.ts'
import type { KubeClient } from '../client.ts'
import { KubeError } from '../errors.ts'
import { RESOURCES } from '../paths.ts'
import { runs } from './peers.ts'

export interface RestartOptions {
  readonly client: Pick<KubeClient, 'list' | 'create'>
  readonly podName: string
  /** All pods of the job that are there, this one among them. */
  readonly pods: () => Promise<readonly V1Pod[]>
  /** How many there should be. */
  readonly podCount: number
  /** When this process began, in milliseconds. */
  readonly begunAt: number
  readonly say: (line: string) => void
  readonly signal: AbortSignal
  /** The program goes on from what the job has saved, as do the others, which end when one is gone. @default false */
  readonly goesOn?: boolean
}

const LOOK_MS = 300
const SETTLED_MS = 10_000
const SLACK_MS = 2000 // the API knows whole seconds

/** Resolves in a container's first life; otherwise asks Volcano to abort the job, where it may, and throws. */
export async function refuseRestart(options: RestartOptions): Promise<void> {
  const pod = await settledPod(options)
  const restarts = ownContainer(pod)?.restartCount ?? 0
  if (restarts === 0) return
  const all = await wholeJob(options)
  if (options.goesOn && all && canGoOn(restarts, firstEnded(all) ?? pod)) {
    options.say(
      `This program was started again in its pod (restart ${restarts}), as those of the other pods are: the job goes on.`,
    )
    return
  }
  const aborted = all ? await abortJob(pod, all, options) : STARTS_ANEW
  const message =
    `This program was started again in its pod (restart ${restarts} of ${options.podName}); ` +
    'what the job had learned in it is gone, so it cannot go on.'
  throw new UserError(`${message} ${aborted}`, {
    code: 'KUBE_RESTARTED',
    hint: `The reason is in: kubectl logs --previous ${options.podName}\nWith restartPolicy: Never such a pod fails, and the policy PodFailed -> RestartJob starts the whole job anew.`,
  })
}

const MOST_RESTARTS = 10
const SIGNALS = 128

/** Killed, it would not end there again; what ended by itself would. */
const canGoOn = (restarts: number, first: V1Pod) => restarts <= MOST_RESTARTS && (endOf(first)?.exitCode ?? 0) > SIGNALS

const STARTS_ANEW = 'Pods of the job are gone: Volcano starts it anew, where its policies say so.'
const WHOLE_MS = 30_000

/**
 * When a pod is evicted, programs of the others end with errors and are started again before Volcano has begun the job anew. That is not to be
 * stopped: whoever sees a pod missing waits, and is ended with the rest.
 */
async function wholeJob({ pods, podCount, signal }: RestartOptions): Promise<readonly V1Pod[] | undefined> {
  for (const end = Date.now() + WHOLE_MS; Date.now() < end; await sleep(LOOK_MS, undefined, { signal })) {
    const all = await pods()
    if (all.filter(stays).length >= podCount) return all
  }
  return undefined
}

const stays = (pod: V1Pod) => runs(pod) || pod.status?.phase === 'Succeeded'

/** The kubelet reports a container a moment after it has started: until then the pod shows the life before this one. */
async function settledPod({ client, podName, begunAt, signal }: RestartOptions): Promise<V1Pod> {
  for (const end = Date.now() + SETTLED_MS; ; await sleep(LOOK_MS, undefined, { signal })) {
    const { items } = await client.list<V1Pod>(RESOURCES.Pod, { fields: `metadata.name=${podName}` })
    const [pod] = items
    if (!pod) throw notHere(podName)
    const started = ownContainer(pod)?.state?.running?.startedAt
    const isThisLife = started !== undefined && new Date(started).getTime() >= begunAt - SLACK_MS
    // A program that something else in the container started later is of this life too.
    if (isThisLife || Date.now() > end) return pod
  }
}

const notHere = (podName: string) =>
  new UserError(`There is no pod ${podName} in the namespace that NAMESPACE names.`, {
    code: 'KUBE_POD',
    hint: 'Set NAMESPACE and POD_NAME in the env of the pod template from metadata.namespace and metadata.name.',
  })

/** Training runs in the first container of a pod, as PaddlePaddle's operator has it too. */
function ownContainer({ spec, status }: V1Pod): V1ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === spec?.containers[0]?.name)
}

/** Says what became of the job. Its pods go with it, and their logs: the reason stays as an event of the job. */
async function abortJob(pod: V1Pod, all: readonly V1Pod[], { client, say }: RestartOptions): Promise<string> {
  const metadata = pod.metadata!
  const job = metadata.ownerReferences?.find(({ kind, apiVersion }) => `${apiVersion}/${kind}` === VOLCANO_JOB)
  if (!job) return 'The pod has no Volcano Job that could be stopped.'
  try {
    // The first pod that gets its event in aborts the job; the others find that it is done.
    if (!(await isFirst(client.create(restartEvent(pod, firstEnded(all) ?? pod, job)))))
      return `The job ${job.name} is being aborted.`
    await client.create({
      apiVersion: RESOURCES.Command.apiVersion,
      kind: RESOURCES.Command.kind,
      metadata: { name: `${job.name}-${startOf(pod)}-restarted`, ownerReferences: [job] },
      target: job,
      action: 'AbortJob',
      reason: EVENT_REASON,
    })
    return `The job ${job.name} is being aborted.`
  } catch (error) {
    if (!isUserError(error)) throw error
    say([error.message, error.hint].filter(Boolean).join('\n'))
    return `The job ${job.name} could not be aborted: delete it with kubectl delete vcjob ${job.name}.`
  }
}

/** Of the starts of a job, which Volcano counts: each may be aborted once. */
const startOf = ({ metadata }: V1Pod) => metadata?.annotations?.['volcano.sh/job-version'] ?? '0'

async function isFirst(created: Promise<unknown>): Promise<boolean> {
  try {
    await created
    return true
  } catch (error) {
    if (error instanceof KubeError && error.status === 409) return false
    throw error
  }
}

const VOLCANO_JOB = `${RESOURCES.VolcanoJob.apiVersion}/${RESOURCES.VolcanoJob.kind}`
const EVENT_REASON = 'ProgramRestarted'

/** Where the trouble began: the others ended because this one had. A signal comes before errors of the same second. */
function firstEnded(pods: readonly V1Pod[]): V1Pod | undefined {
  const ended = pods.filter((pod) => (endOf(pod)?.exitCode ?? 0) !== 0)
  const time = (pod: V1Pod) => new Date(endOf(pod)!.finishedAt ?? 0).getTime()
  return ended.sort((a, b) => time(a) - time(b) || endOf(b)!.exitCode - endOf(a)!.exitCode)[0]
}

const endOf = (pod: V1Pod) => ownContainer(pod)?.lastState?.terminated ?? ownContainer(pod)?.state?.terminated

function restartEvent(pod: V1Pod, first: V1Pod, job: V1OwnerReference) {
  const { namespace } = pod.metadata!
  const end = endOf(first)
  const why = end?.message?.trim().split('\n').join(' | ') || end?.reason
  const now = new Date().toISOString()
  return {
    apiVersion: RESOURCES.Event.apiVersion,
    kind: RESOURCES.Event.kind,
    metadata: { name: `${job.name}.${job.uid}.${startOf(pod)}`, namespace: namespace! },
    involvedObject: { apiVersion: job.apiVersion, kind: job.kind, name: job.name, uid: job.uid, namespace },
    type: 'Warning',
    reason: EVENT_REASON,
    message: `The program of ${first.metadata!.name} ended with exit code ${end?.exitCode}: ${why}`.slice(
      0,
      EVENT_CHARACTERS,
    ),
    source: { component: 'oarfish' },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  }
}

const EVENT_CHARACTERS = 1000 // the API takes 1024 bytes
