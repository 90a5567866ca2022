/** @file What goes wrong with pods, as one line with the fix. Pure: statuses and events in, sentences out. */
import type { CoreV1Event, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { RoleName } from '../submit/index.ts'
import { podIdentity } from './render/names.ts'

/** Something that a pod's status or an event says. */
interface Complaint {
  /** `trainer 0`, or `the job` where no pod is concerned. */
  readonly who: string
  readonly role: RoleName | undefined
  readonly reason: string
  readonly message: string
  readonly exitCode?: number | undefined
  readonly pod?: V1Pod
}

/** The worst that is known, or undefined where all is well. */
export function troubleOf(pods: readonly V1Pod[], events: readonly CoreV1Event[]): string | undefined {
  const complaints = [...byEnd(pods).flatMap(ofPod), ...events.filter(isNew(pods)).flatMap(ofEvent)]
  for (const { matches, says } of TROUBLES) {
    const found = complaints.find((complaint) => matches(complaint))
    if (found) return says(found)
  }
  return undefined
}

/** Where the trouble began comes first: the others end because it did. A signal comes before errors of the same second. */
export function byEnd(pods: readonly V1Pod[]): readonly V1Pod[] {
  const end = ({ status }: V1Pod) => status?.containerStatuses?.[0]?.state?.terminated
  const time = (pod: V1Pod) => timeOf(end(pod)?.finishedAt) || Number.POSITIVE_INFINITY
  return [...pods].sort((a, b) => {
    const [first, second] = [time(a), time(b)]
    return first === second ? (end(b)?.exitCode ?? 0) - (end(a)?.exitCode ?? 0) : first - second
  })
}

/** What made a pod fail; undefined for one that did not. */
export function failureOf(pod: V1Pod): string | undefined {
  if (pod.status?.phase !== 'Failed') return undefined
  const complaints = ofPod(pod)
  const rule = TROUBLES.find(({ matches }) => complaints.some((complaint) => matches(complaint)))
  const found = complaints.find((complaint) => rule?.matches(complaint))
  return rule && found
    ? rule.says(found)
    : `${podIdentity(pod).title} failed: ${pod.status.message ?? 'no reason is given'}.`
}

interface Trouble {
  readonly matches: (complaint: Complaint) => boolean
  readonly says: (complaint: Complaint) => string
}

const because = (pattern: RegExp) => (complaint: Complaint) => pattern.test(complaint.reason)
const saying = (pattern: RegExp) => (complaint: Complaint) => pattern.test(complaint.message)
const key = (role: RoleName | undefined, trainers: string, servers: string) => (role === 'pserver' ? servers : trainers)

/** From the cause to its consequences: a pod whose claim is missing is unschedulable too. */
const TROUBLES: readonly Trouble[] = [
  {
    matches: because(/^OOMKilled$/),
    says: ({ who, role, pod }) =>
      `${who} was killed: it needed more memory than ${memoryOf(pod)} (OOMKilled). Raise submit.${key(role, 'k8s_memory', 'k8s_ps_memory')}.`,
  },
  {
    matches: because(/^(Evicted|Preempting|TerminationByKubelet|NodeLost|DeletionByTaintManager)$/),
    says: ({ who, message, reason }) =>
      `${who} was evicted from its node: ${sentence(message || reason)} All pods are started again; where it happens often, raise submit.priority or ask for the memory and disk that it needs.`,
  },
  {
    matches: because(/^(ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull)$/),
    says: ({ pod, message, who }) =>
      `The image ${imageOf(pod)} of ${who} cannot be pulled: ${sentence(message)} Check submit.k8s_image, and name the secret of its registry in submit.k8s_pull_secrets.`,
  },
  {
    matches: saying(/persistentvolumeclaim "([^"]+)" not found/),
    says: ({ message }) =>
      `There is no PersistentVolumeClaim ${/persistentvolumeclaim "([^"]+)"/.exec(message)?.[1]}: create it, or change config.afs_remote_mount_point.`,
  },
  {
    matches: saying(/exceeded quota: /),
    says: ({ message }) =>
      `The quota of the namespace is exceeded (${/exceeded quota: [^"]*/.exec(message)?.[0].replace(/\.$/, '')}): ask for fewer or smaller pods, end other jobs, or have it raised.`,
  },
  {
    matches: because(/^(FailedMount|FailedAttachVolume)$/),
    says: ({ who, message }) =>
      `${who} waits for its volume: ${sentence(message)} Check config.afs_remote_mount_point.`,
  },
  {
    matches: because(/^(CreateContainerConfigError|CreateContainerError|RunContainerError)$/),
    says: ({ who, message, reason }) =>
      `${who} cannot be started (${reason}): ${sentence(message)} Check the image and its user.`,
  },
  {
    matches: ({ exitCode }) => exitCode !== undefined && exitCode !== 0,
    says: ({ who, exitCode, message }) =>
      `${who} ended with exit code ${exitCode}${message ? `: ${sentence(message)}` : '; its log says why.'}`,
  },
  {
    matches: (complaint) =>
      because(/^(Unschedulable|FailedScheduling)$/)(complaint) &&
      saying(/Insufficient|overused|nodes are (un)?available|queue/)(complaint),
    says: ({ message, role }) =>
      `The pods cannot be placed: ${sentence(originOf(message))} Ask for less (submit.${key(role, 'k8s_cpu_cores', 'k8s_ps_cores')}, submit.${key(role, 'k8s_memory', 'k8s_ps_memory')}, fewer pods), or wait for other jobs to end.`,
  },
  {
    matches: because(/^FailedCreate$/),
    says: ({ message }) => `Pods cannot be made: ${sentence(message)}`,
  },
]

/** Volcano writes what is wrong with one pod into every pod of its gang. */
const originOf = (message: string) => /Origin reason is \S+: (.*)$/s.exec(message)?.[1] ?? message

const sentence = (text: string) => `${text.trim().replace(/[.;]$/, '')}.`

const memoryOf = (pod: V1Pod | undefined) => pod?.spec?.containers[0]?.resources?.limits?.['memory'] ?? 'its node has'

const imageOf = (pod: V1Pod | undefined) => pod?.spec?.containers[0]?.image ?? ''

function ofPod(pod: V1Pod): readonly Complaint[] {
  const { title, role } = podIdentity(pod)
  const { conditions = [], containerStatuses = [], reason, message = '' } = pod.status ?? {}
  const common = { who: title, role, pod }
  const unplaced = conditions.filter(({ type, status }) => type === 'PodScheduled' && status === 'False')
  return [
    ...(reason === undefined ? [] : [{ ...common, reason, message }]),
    ...conditions
      .filter(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
      .map((condition) => ({ ...common, reason: condition.reason ?? '', message: condition.message ?? '' })),
    ...containerStatuses.flatMap((status) => ofContainer(status).map((complaint) => ({ ...common, ...complaint }))),
    ...unplaced.map((condition) => ({ ...common, reason: condition.reason ?? '', message: condition.message ?? '' })),
  ]
}

function ofContainer({
  state,
  lastState,
}: V1ContainerStatus): readonly Pick<Complaint, 'reason' | 'message' | 'exitCode'>[] {
  const ended = state?.terminated ?? lastState?.terminated
  return [
    ...(state?.waiting ? [{ reason: state.waiting.reason ?? '', message: state.waiting.message ?? '' }] : []),
    ...(ended ? [{ reason: ended.reason ?? '', message: ended.message ?? '', exitCode: ended.exitCode }] : []),
  ]
}

/** What an event said is old news once pods were placed, or made, since. */
function isNew(pods: readonly V1Pod[]): (event: CoreV1Event) => boolean {
  const placed = new Set(pods.filter(({ spec }) => spec?.nodeName !== undefined).map(({ metadata }) => metadata?.name))
  const made = Math.max(...pods.map(({ metadata }) => timeOf(metadata?.creationTimestamp)))
  return ({ involvedObject, reason, lastTimestamp }) => {
    if (reason === 'FailedCreate') return timeOf(lastTimestamp) >= made
    if (reason !== 'Unschedulable' && reason !== 'FailedScheduling') return true
    return involvedObject.kind === 'Pod' ? !placed.has(involvedObject.name) : placed.size === 0
  }
}

const timeOf = (time: Date | string | undefined) => (time === undefined ? 0 : new Date(time).getTime())

function ofEvent({ reason = '', message = '', involvedObject }: CoreV1Event): readonly Complaint[] {
  const who = involvedObject.kind === 'Pod' ? (involvedObject.name ?? 'a pod') : 'the job'
  return [{ who, role: undefined, reason, message }]
}
