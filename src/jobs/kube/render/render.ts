/** @file A job as the objects that make it on Kubernetes. Pure: the same job, token and version give the same bytes. */
import type { V1PodTemplateSpec, V1Secret } from '@kubernetes/client-node'
import { stringify } from 'yaml'
import type { PodFramework } from '../../../base/config/index.ts'
import { defined } from '../../../base/util/index.ts'
import type { Job, RoleSpec } from '../../submit/index.ts'
import type { KubeObject } from '../client.ts'
import { RESOURCES, type Resource } from '../paths.ts'
import { type ConfigMap, configMapsOf, type LoadedFile } from './files.ts'
import { kubeName, labelsOf, priorityClassOf, queueOf } from './names.ts'
import { podOf } from './pod.ts'

export interface RenderOptions {
  readonly job: Job
  /** Contents of the job's files. */
  readonly files: readonly LoadedFile[]
  /** Version of this package, which names the image where the job does not. */
  readonly version: string
  /** By which the processes of the job know each other. */
  readonly token: string
  readonly fsUgi?: string | undefined
  /** In place of the job's own name: one that no other job has. */
  readonly name?: string | undefined
  /** False where the cluster has no such class. */
  readonly withPriority?: boolean
}

export interface Rendered {
  readonly name: string
  readonly framework: PodFramework
  /** What pods need: made before them, and owned by the first of `jobs`. */
  readonly support: readonly KubeObject[]
  /** What makes pods. Several only as plain Jobs: servers, then trainers. */
  readonly jobs: readonly KubeObject[]
  /** One pod of each role, for the cluster to check what it does not check in a template. */
  readonly samples: readonly KubeObject[]
}

export function renderJob({ job, files, version, token, fsUgi, ...options }: RenderOptions): Rendered {
  const name = kubeName(options.name ?? job.name)
  const maps = configMapsOf(name, [...files, describe(job)])
  const priorityClass = (options.withPriority ?? true) ? priorityClassOf(job.priority) : undefined
  const image = job.pods?.image ?? `localhost/oarfish:${version}`
  const framework = job.pods?.framework ?? 'volcano'
  const pods = job.roles.map((role) => ({ role, template: podOf({ job, name, image, maps, priorityClass }, role) }))
  const account = job.pods?.serviceAccount === undefined ? accountOf(name) : []
  return {
    name,
    framework,
    support: [...(maps as readonly ConfigMap[] as readonly KubeObject[]), secretOf(name, token, fsUgi), ...account],
    jobs: FRAMEWORKS[framework]({ job, name, pods, priorityClass }),
    samples: pods.map((pod) => sampleOf(name, { job, ...pod })),
  }
}

/** What a pod reads of its job, beside the files. */
function describe({ name, kind, command, env, data, roles }: Job): LoadedFile {
  return {
    name: 'job.json',
    content: Buffer.from(`${JSON.stringify({ name, kind, command, env, data, roles }, undefined, 2)}\n`),
  }
}

function secretOf(name: string, token: string, fsUgi: string | undefined): KubeObject & V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: labelsOf(name) },
    type: 'Opaque',
    stringData: defined({ OARFISH_RUN_TOKEN: token, OARFISH_FS_UGI: fsUgi }),
  }
}

/** All that a submission makes, decided before the cluster is asked. */
export interface KubePlan {
  readonly rendered: Rendered
  /** For a cluster that has no class for the job's priority. */
  readonly withoutPriority: Rendered
}

export const planObjects = (options: RenderOptions): KubePlan => ({
  rendered: renderJob(options),
  withoutPriority: renderJob({ ...options, withPriority: false }),
})

/** The same objects with the values of secrets, which stand in no plan. */
export function withSecrets(
  { support, ...rest }: Rendered,
  secrets: Readonly<Record<string, string | undefined>>,
): Rendered {
  const filled = support.map((object) => {
    const { stringData } = object as V1Secret
    if (!stringData) return object
    const values = Object.entries(stringData).map(([name, hidden]) => [name, secrets[name] ?? hidden])
    return { ...object, stringData: Object.fromEntries(values) } as KubeObject
  })
  return { ...rest, support: filled }
}

interface Parts {
  readonly job: Job
  readonly name: string
  readonly pods: readonly { readonly role: RoleSpec; readonly template: V1PodTemplateSpec }[]
  readonly priorityClass: string | undefined
}

const FRAMEWORKS: Readonly<Record<PodFramework, (parts: Parts) => readonly KubeObject[]>> = {
  volcano: (parts) => [volcanoJob(parts)],
  job: plainJobs,
  paddlejob: (parts) => [paddleJob(parts)],
}

const DEFAULT_RETRIES = 3

/** All pods or none; any that fails or is evicted starts the whole job again, a few times. */
function volcanoJob({ job, name, pods, priorityClass }: Parts): KubeObject {
  return of(RESOURCES.VolcanoJob, name, {
    schedulerName: job.pods?.scheduler ?? 'volcano',
    queue: queueOf(job.group),
    priorityClassName: priorityClass,
    minAvailable: total(pods),
    maxRetry: job.pods?.maxRetry ?? DEFAULT_RETRIES,
    policies: [{ events: ['PodFailed', 'PodEvicted'], action: 'RestartJob' }],
    tasks: pods.map(({ role, template }) => ({
      name: role.name,
      replicas: role.replicas,
      policies: role.name === 'trainer' ? [{ event: 'TaskCompleted', action: 'CompleteJob' }] : undefined,
      template,
    })),
  })
}

/** One Indexed Job for each role. Without a gang: a pod may wait for others that find no room, and a failed one fails its Job. */
function plainJobs({ pods, name, job }: Parts): readonly KubeObject[] {
  return pods.map(({ role, template }) =>
    of(
      RESOURCES.Job,
      `${name}-${role.name}`,
      {
        completionMode: 'Indexed',
        completions: role.replicas,
        parallelism: role.replicas,
        // One pod that came back alone would find the others at another step: the job fails as a whole.
        backoffLimit: 0,
        template: {
          ...template,
          spec: { ...template.spec, schedulerName: job.pods?.scheduler ?? 'default-scheduler' },
        },
      },
      labelsOf(name),
    ),
  )
}

/** PaddlePaddle's operator makes the pods; they find each other by our labels, whatever variables it sets for them. */
function paddleJob({ pods, name, job, priorityClass }: Parts): KubeObject {
  const named = { pserver: 'ps', trainer: 'worker' } as const
  const roles = pods.map(({ role, template }) => [named[role.name], { replicas: role.replicas, template }])
  return of(RESOURCES.PaddleJob, name, {
    cleanPodPolicy: 'Never',
    intranet: 'PodIP',
    schedulingPolicy: {
      minAvailable: total(pods),
      queue: queueOf(job.group),
      priorityClass,
    },
    ...Object.fromEntries(roles),
  })
}

const total = (pods: Parts['pods']) => pods.reduce((sum, { role }) => sum + role.replicas, 0)

const of = ({ apiVersion, kind }: Resource, name: string, spec: unknown, labels = labelsOf(name)) =>
  ({ apiVersion, kind, metadata: { name, labels }, spec }) as KubeObject

/** Under the namespace's own account: the job's is not there yet when this is checked. */
function sampleOf(
  name: string,
  { job, role, template }: { job: Job; role: RoleSpec; template: V1PodTemplateSpec },
): KubeObject {
  const { serviceAccountName, ...spec } = template.spec!
  const metadata = { ...template.metadata, name: `${name}-${role.name}-check` }
  const account = job.pods?.serviceAccount === undefined ? {} : { serviceAccountName }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, ...account } } as KubeObject
}

/** It may look at the pods of its namespace, to find those of its job, and at nothing else. */
function accountOf(name: string): readonly KubeObject[] {
  const parts = [
    [RESOURCES.ServiceAccount, {}],
    [RESOURCES.Role, { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }] }],
    [
      RESOURCES.RoleBinding,
      {
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects: [{ kind: 'ServiceAccount', name }],
      },
    ],
  ] as const
  const metadata = { name, labels: labelsOf(name) }
  return parts.map(([{ apiVersion, kind }, rest]) => ({ apiVersion, kind, metadata, ...rest }))
}

/** What `kubectl create -f -` would take, but for the secrets. */
export function manifestText({ support, jobs }: Pick<Rendered, 'support' | 'jobs'>): string {
  return [...support, ...jobs]
    .map((object) => stringify(masked(object), { aliasDuplicateObjects: false, lineWidth: 0 }))
    .join('---\n')
}

function masked(object: KubeObject): KubeObject {
  const { stringData } = object as { readonly stringData?: Readonly<Record<string, string>> }
  if (!stringData) return object
  return { ...object, stringData: Object.fromEntries(Object.keys(stringData).map((key) => [key, '***'])) } as KubeObject
}
