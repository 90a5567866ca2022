/** @file A program that the kubelet started again in its old pod: what it had learned is gone, so its job is stopped instead of going on wrong. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1ContainerStatus, V1OwnerReference, V1Pod } from '@kubernetes/client-node'
import { isUserError, UserError } from '../../util/index.ts'
import type { KubeClient } from '../client.ts'
import { RESOURCES } from '../paths.ts'

export interface RestartOptions {
  readonly client: Pick<KubeClient, 'list' | 'create'>
  readonly podName: string
  /** Whether all pods of the job are there, and stay. */
  readonly isWhole: () => Promise<boolean>
  /** When this process began, in milliseconds. */
  readonly begunAt: number
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const LOOK_MS = 300
const SETTLED_MS = 10_000
const SLACK_MS = 2000 // the API knows whole seconds

/** Resolves in a container's first life; otherwise asks Volcano to abort the job, where it may, and throws. */
export async function refuseRestart(options: RestartOptions): Promise<void> {
  const pod = await settledPod(options)
  const restarts = ownContainer(pod)?.restartCount ?? 0
  if (restarts === 0) return
  const aborted = (await becomesWhole(options)) ? await abortJob(pod, options) : STARTS_ANEW
  const message =
    `This program was started again in its pod (restart ${restarts} of ${options.podName}); ` +
    'what the job had learned in it is gone, so it cannot go on.'
  throw new UserError(`${message} ${aborted}`, {
    code: 'KUBE_RESTARTED',
    hint: `The reason is in: kubectl logs --previous ${options.podName}\nWith restartPolicy: Never such a pod fails, and the policy PodFailed -> RestartJob starts the whole job anew.`,
  })
}

const STARTS_ANEW = 'Pods of the job are gone: Volcano starts it anew, where its policies say so.'
const WHOLE_MS = 30_000

/**
 * When a pod is evicted, programs of the others end with errors and are started again before Volcano has begun the job anew. That is not to be
 * stopped: whoever sees a pod missing waits, and is ended with the rest.
 */
async function becomesWhole({ isWhole, signal }: RestartOptions): Promise<boolean> {
  for (const end = Date.now() + WHOLE_MS; Date.now() < end; await sleep(LOOK_MS, undefined, { signal }))
    if (await isWhole()) return true
  return false
}

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
async function abortJob(pod: V1Pod, { client, say }: RestartOptions): Promise<string> {
  const metadata = pod.metadata!
  const job = metadata.ownerReferences?.find(({ kind, apiVersion }) => `${apiVersion}/${kind}` === VOLCANO_JOB)
  if (!job) return 'The pod has no Volcano Job that could be stopped.'
  try {
    await client.create(restartEvent(pod, job))
    await client.create({
      ...{ apiVersion: RESOURCES.Command.apiVersion, kind: RESOURCES.Command.kind },
      metadata: { name: `${metadata.name}-restarted`, ownerReferences: [job] },
      ...{ target: job, action: 'AbortJob', reason: EVENT_REASON },
    })
    return `The job ${job.name} is being aborted.`
  } catch (error) {
    if (!isUserError(error)) throw error
    say([error.message, error.hint].filter(Boolean).join('\n'))
    return `The job ${job.name} could not be aborted: delete it with kubectl delete vcjob ${job.name}.`
  }
}

const VOLCANO_JOB = `${RESOURCES.VolcanoJob.apiVersion}/${RESOURCES.VolcanoJob.kind}`
const EVENT_REASON = 'ProgramRestarted'

function restartEvent(pod: V1Pod, job: V1OwnerReference) {
  const { name, namespace, uid } = pod.metadata!
  const before = ownContainer(pod)?.lastState?.terminated
  const why = before?.message?.trim().split('\n').join(' | ') || before?.reason
  const end = before ? `it had ended with exit code ${before.exitCode}: ${why}` : ''
  const now = new Date().toISOString()
  return {
    ...{ apiVersion: RESOURCES.Event.apiVersion, kind: RESOURCES.Event.kind },
    metadata: { name: `${name}.${uid}`, namespace: namespace! },
    involvedObject: { apiVersion: job.apiVersion, kind: job.kind, name: job.name, uid: job.uid, namespace },
    type: 'Warning',
    reason: EVENT_REASON,
    message: `The program of ${name} was started again in its old pod; ${end}`.slice(0, EVENT_CHARACTERS),
    ...{ source: { component: 'oarfish' }, firstTimestamp: now, lastTimestamp: now, count: 1 },
  }
}

const EVENT_CHARACTERS = 1000 // the API takes 1024 bytes
