/** @file The flags of `paddlecloud job train`: written into job.sh from a job, and read again as that job. Pure. */
import { JOB_KINDS, type JobKind, POD_FRAMEWORKS, PRIORITIES } from '../../base/config/index.ts'
import { shellWord, UserError } from '../../base/util/index.ts'
import { commandOf } from './command.ts'
import type { ConfigIni } from './config-ini.ts'
import { type DescribedJob, groupOf, type Job, PERMISSIONS, type PodSettings, type RoleSpec } from './job.ts'
import { wallSecondsOf } from './wall-time.ts'

/** PaddleCloud's own, and those of pods. */
export const TRAIN_FLAGS = {
  'mpi-nodes': 'count',
  'mpi-priority': 'text',
  'mpi-wall-time': 'text',
  'k8s-trainers': 'count',
  'k8s-cpu-cores': 'count',
  'k8s-memory': 'text',
  'k8s-gpu-cards': 'count',
  'k8s-gpu-resource': 'text',
  'k8s-priority': 'text',
  'k8s-ps-num': 'count',
  'k8s-ps-cores': 'count',
  'k8s-ps-memory': 'text',
  'k8s-framework': 'text',
  'k8s-image': 'text',
  'k8s-namespace': 'text',
  'k8s-scheduler': 'text',
  'k8s-service-account': 'text',
  'k8s-pull-secrets': 'text',
  'k8s-max-retry': 'count',
  'wall-time': 'text',
  'distribute-job-type': 'text',
  'is-standalone': 'text',
  'job-version': 'text',
  permission: 'text',
  'job-remark': 'text',
} as const satisfies Readonly<Record<string, 'count' | 'text'>>

type FlagName = keyof typeof TRAIN_FLAGS
type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

/** As commander gives them. */
export type TrainFlags = {
  readonly [Name in FlagName as Camel<Name>]?:
    | ((typeof TRAIN_FLAGS)[Name] extends 'count' ? number : string)
    | undefined
} & { readonly jobName: string; readonly groupName: string; readonly startCmd: string }

/** The flags that say what kind of job it is and what it needs, as lines of job.sh. */
export function renderTrainFlags(job: Job): readonly string[] {
  const { kind, roles, priority, pods: settings } = job
  const said = written({ permission: job.permission, 'job-remark': job.remark })
  const trainer = roles.find(({ name }) => name === 'trainer')!
  const server = roles.find(({ name }) => name === 'pserver')
  if (kind.endsWith('_MPI'))
    return [
      `--mpi-priority ${priority}`,
      ...(job.wallSeconds === undefined ? [] : ['--mpi-wall-time "$wall_time"']),
      `--mpi-nodes ${trainer.replicas}`,
      '--is-standalone 0',
      ...said,
      ...(server ? [] : ['--distribute-job-type MPI']),
    ]
  const { cpu, memory, gpu } = trainer.resources
  const pods = [
    `--k8s-priority ${priority}`,
    ...(job.wallSeconds === undefined ? [] : ['--wall-time "$wall_time"']),
    `--k8s-trainers ${trainer.replicas}`,
    ...written({ 'k8s-cpu-cores': cpu, 'k8s-memory': memory, 'k8s-gpu-cards': gpu?.cards }),
    ...written({ 'k8s-gpu-resource': gpu?.resource, ...podFlags(settings) }),
    ...said,
  ]
  if (server) {
    const { cpu: cores, memory: size } = server.resources
    const servers = { 'k8s-ps-num': server.replicas, 'k8s-ps-cores': cores, 'k8s-ps-memory': size }
    return [...pods, ...written(servers), '--is-standalone 0', '--distribute-job-type "PSERVER"']
  }
  if (trainer.replicas > 1) return [...pods, '--is-standalone 0', '--distribute-job-type NCCL2']
  return [...pods, '--is-standalone 1']
}

/** What PaddleRec's job.sh says of a job beside what it needs. */
export function saidOf(kind: JobKind, roles: readonly RoleSpec[]) {
  const trainer = roles.find(({ name }) => name === 'trainer')!
  const isSingle = kind.endsWith('_K8S') && roles.length === 1 && trainer.replicas === 1
  const single = trainer.resources.gpu?.cards === 1 ? 'single-gpu' : 'single-trainer'
  return {
    wallSeconds: DEFAULT_WALL_SECONDS,
    permission: kind.endsWith('_MPI') ? ('group' as const) : undefined,
    version: JOB_VERSION,
    remark: isSingle ? single : undefined,
  }
}

/** 2000 hours. */
export const DEFAULT_WALL_SECONDS = 2000 * 3600
const JOB_VERSION = 'paddle-fluid-v1.7.1'

type Values = { readonly [Name in FlagName]?: string | number | undefined }

const written = (values: Values) =>
  Object.entries(values).flatMap(([flag, value]) =>
    value === undefined ? [] : [`--${flag} ${shellWord(String(value))}`],
  )

const podFlags = (settings: PodSettings | undefined): Values => ({
  'k8s-framework': settings?.framework,
  'k8s-image': settings?.image,
  'k8s-namespace': settings?.namespace,
  'k8s-scheduler': settings?.scheduler,
  'k8s-service-account': settings?.serviceAccount,
  'k8s-pull-secrets': settings?.pullSecrets?.join(','),
  'k8s-max-retry': settings?.maxRetry,
})

/** The job that flags and config.ini describe. `names` are those of its files, which decide how a command is translated. */
export function readTrainFlags(flags: TrainFlags, { data, env }: ConfigIni, names: readonly string[]): DescribedJob {
  const kind = kindFrom(flags, env['DISTRIBUTE_MODE'])
  refuseWithoutEffect(flags, kind)
  const wallTime = kind.endsWith('_MPI') ? flags.mpiWallTime : flags.wallTime
  return {
    name: flags.jobName,
    group: groupOf(flags.groupName),
    priority: oneOf(PRIORITIES, flags.mpiPriority ?? flags.k8sPriority ?? 'high', 'priority'),
    kind,
    roles: rolesFrom(flags, kind),
    command: commandOf(flags.startCmd, names),
    env,
    data,
    pods: kind.endsWith('_K8S') ? podsFrom(flags) : undefined,
    wallSeconds: wallTime === undefined ? undefined : wallSecondsOf(wallTime),
    permission: flags.permission === undefined ? undefined : oneOf(PERMISSIONS, flags.permission, 'permission'),
    version: flags.jobVersion,
    remark: flags.jobRemark,
  }
}

const TYPES: Readonly<Record<string, (kind: JobKind) => boolean>> = {
  MPI: (kind) => kind.startsWith('COLLECTIVE') && kind.endsWith('_MPI'),
  NCCL2: (kind) => kind.startsWith('COLLECTIVE') && kind.endsWith('_K8S'),
  PSERVER: (kind) => kind.startsWith('PS_'),
}

/** Flags of another kind of job, or that say what it is not, would be taken for granted by who wrote them. */
function refuseWithoutEffect(flags: TrainFlags, kind: JobKind): void {
  const given = (Object.keys(TRAIN_FLAGS) as FlagName[]).filter((name) => flags[camel(name)] !== undefined)
  const isFor: Readonly<Record<string, boolean>> = {
    'mpi-': kind.endsWith('_MPI'),
    'k8s-ps-': kind.startsWith('PS_') && kind.endsWith('_K8S'),
    'k8s-': kind.endsWith('_K8S'),
    'wall-time': kind.endsWith('_K8S'),
  }
  const idle = given.find((name) => Object.entries(isFor).find(([start]) => name.startsWith(start))?.[1] === false)
  if (idle !== undefined) throw noEffect(`--${idle} has no effect on a job of kind ${kind}.`, 'Leave it out.')
  const { distributeJobType: type, isStandalone } = flags
  if (type !== undefined && !TYPES[oneOf(Object.keys(TYPES), type, 'job type')]!(kind))
    throw noEffect(
      `--distribute-job-type ${type}: by its other flags the job is ${kind}.`,
      'Leave it out, or change them.',
    )
  if (isStandalone === undefined) return
  const isSingle = !kind.startsWith('PS_') && (flags.mpiNodes ?? flags.k8sTrainers ?? 1) === 1
  if (oneOf(['0', '1'], isStandalone, '--is-standalone') === '1' && !isSingle)
    throw noEffect('--is-standalone 1: the job has more than one process.', 'Write 0.')
}

const camel = <Name extends string>(name: Name) =>
  name.replaceAll(/-(.)/g, (_dash, letter: string) => letter.toUpperCase()) as Camel<Name>

const noEffect = (message: string, hint: string) => new UserError(message, { code: 'SUBMIT_FLAGS', hint })

function podsFrom(flags: TrainFlags): PodSettings {
  return {
    framework: oneOf(POD_FRAMEWORKS, flags.k8sFramework ?? 'volcano', 'framework'),
    image: flags.k8sImage,
    namespace: flags.k8sNamespace,
    scheduler: flags.k8sScheduler,
    serviceAccount: flags.k8sServiceAccount,
    pullSecrets: flags.k8sPullSecrets?.split(/[\s,]+/).filter((name) => name !== ''),
    maxRetry: flags.k8sMaxRetry,
  }
}

function kindFrom(flags: TrainFlags, known: string | undefined): JobKind {
  const kind = JOB_KINDS.find((each) => each === known)
  if (kind) return kind
  if (flags.mpiNodes !== undefined) return flags.distributeJobType === 'MPI' ? 'COLLECTIVE_CPU_MPI' : 'PS_CPU_MPI'
  if (flags.k8sPsNum !== undefined) return 'PS_CPU_K8S'
  if (flags.k8sTrainers === undefined)
    throw new UserError('The job says neither how many nodes nor how many trainers it needs.', {
      code: 'SUBMIT_FLAGS',
      hint: 'Add --mpi-nodes N, or --k8s-trainers N (with --k8s-ps-num N for parameter servers).',
    })
  if (flags.isStandalone === '1' && flags.k8sGpuCards === undefined) return 'SINGLE_K8S'
  return flags.k8sGpuCards === undefined ? 'COLLECTIVE_CPU_K8S' : 'COLLECTIVE_GPU_K8S'
}

function rolesFrom(flags: TrainFlags, kind: JobKind): readonly RoleSpec[] {
  const { mpiNodes = 1, k8sTrainers = 1, k8sPsNum = 1, k8sGpuCards: cards } = flags
  const onMpi = kind.endsWith('_MPI')
  const gpu = cards === undefined ? undefined : { resource: flags.k8sGpuResource ?? 'nvidia.com/gpu', cards }
  const trainer = onMpi ? {} : { cpu: flags.k8sCpuCores, memory: flags.k8sMemory, gpu }
  const server = onMpi ? {} : { cpu: flags.k8sPsCores, memory: flags.k8sPsMemory }
  return [
    ...(kind.startsWith('PS_')
      ? [{ name: 'pserver', replicas: onMpi ? mpiNodes : k8sPsNum, resources: server } as const]
      : []),
    { name: 'trainer', replicas: onMpi ? mpiNodes : k8sTrainers, resources: trainer },
  ]
}

function oneOf<T extends string>(list: readonly T[], text: string, what: string): T {
  const known = list.find((each) => each === text)
  if (known) return known
  throw new UserError(`There is no ${what} ${text}.`, { code: 'SUBMIT_FLAGS', hint: `Use one of ${list.join(', ')}.` })
}
