/** @file One pod of a job, the same whatever makes it: Volcano, plain Jobs or PaddlePaddle's operator. Pure. */
import type { V1EnvVar, V1PodSpec, V1PodTemplateSpec, V1ResourceRequirements } from '@kubernetes/client-node'
import { defined } from '../../../base/util/index.ts'
import type { Job, Resources, RoleSpec } from '../../submit/index.ts'
import { type ConfigMap, filesVolume } from './files.ts'
import { JOB_LABEL, ROLE_LABEL } from './names.ts'
import { mountOf } from './volume.ts'

export interface PodOptions {
  readonly job: Job
  readonly name: string
  readonly image: string
  readonly maps: readonly ConfigMap[]
  /** Undefined: pods get the cluster's default. */
  readonly priorityClass: string | undefined
}

const FIRST_PORT = 6170
const USER = 1000 // as in the image

export function podOf(options: PodOptions, role: RoleSpec): V1PodTemplateSpec {
  const { name } = options
  return { metadata: { labels: { [JOB_LABEL]: name, [ROLE_LABEL]: role.name } }, spec: specOf(options, role) }
}

function specOf({ job, name, image, maps, priorityClass }: PodOptions, role: RoleSpec): V1PodSpec {
  const afs = mountOf(job.data)
  const { scheduler, serviceAccount, pullSecrets = [] } = job.pods ?? {}
  return {
    // Started again in its place, a server would serve an empty table: a pod that fails has failed, and the job's policy decides.
    restartPolicy: 'Never',
    ...defined({ schedulerName: scheduler, priorityClassName: priorityClass }),
    serviceAccountName: serviceAccount ?? name,
    ...(pullSecrets.length > 0 ? { imagePullSecrets: pullSecrets.map((secret) => ({ name: secret })) } : {}),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: role.name,
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['oarfish', 'agent', 'kubernetes'],
        env: [...envOf(job, name, role)],
        envFrom: [{ secretRef: { name } }],
        resources: resourcesOf(role.resources),
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        terminationMessagePolicy: 'FallbackToLogsOnError',
        volumeMounts: [
          { name: 'files', mountPath: '/oarfish/files', readOnly: true },
          { name: 'work', mountPath: '/oarfish/work' },
          ...(afs ? [afs.mount] : []),
        ],
      },
    ],
    volumes: [filesVolume(maps), { name: 'work', emptyDir: {} }, ...(afs ? [afs.volume] : [])],
  }
}

function envOf({ roles }: Job, name: string, role: RoleSpec): readonly V1EnvVar[] {
  const count = (of: RoleSpec['name']) => String(roles.find((each) => each.name === of)?.replicas ?? 0)
  const values = {
    OARFISH_JOB_NAME: name,
    OARFISH_ROLE: role.name,
    OARFISH_PSERVERS: count('pserver'),
    OARFISH_TRAINERS: count('trainer'),
    OARFISH_PORT: String(FIRST_PORT),
  }
  const fields = { POD_IP: 'status.podIP', POD_NAME: 'metadata.name', POD_NAMESPACE: 'metadata.namespace' }
  return [
    ...Object.entries(values).map(([key, value]) => ({ name: key, value })),
    ...Object.entries(fields).map(([key, fieldPath]) => ({ name: key, valueFrom: { fieldRef: { fieldPath } } })),
  ]
}

/** What is asked for is what may be used: a job that was placed has it for itself. */
function resourcesOf({ cpu, memory, gpu }: Resources): V1ResourceRequirements {
  const cards = gpu ? { [gpu.resource]: String(gpu.cards) } : {}
  const amounts = defined({ cpu: cpu?.toString(), memory, ...cards })
  return { requests: amounts, limits: amounts }
}
