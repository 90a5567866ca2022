/** @file The flags of `paddlecloud job train` as a job. Pure. */
import type { JobKind } from '../config/index.ts'
import { JOB_KINDS, POD_FRAMEWORKS, PRIORITIES } from '../config/index.ts'
import { translateLine } from '../launch/index.ts'
import type { PodSettings, Resources, Role } from '../submit/index.ts'
import { UserError } from '../util/index.ts'
import type { ConfigIni } from './config-ini.ts'
import type { JobRequest } from './jobs.ts'

export interface TrainFlags {
  readonly jobName: string
  readonly groupName: string
  readonly startCmd: string
  readonly jobVersion?: string
  readonly mpiNodes?: number
  readonly mpiPriority?: string
  readonly k8sTrainers?: number
  readonly k8sCpuCores?: number
  readonly k8sMemory?: string
  readonly k8sGpuCards?: number
  readonly k8sPriority?: string
  readonly k8sPsNum?: number
  readonly k8sPsCores?: number
  readonly k8sPsMemory?: string
  readonly k8sImage?: string
  readonly k8sNamespace?: string
  readonly k8sFramework?: string
  readonly k8sScheduler?: string
  readonly k8sServiceAccount?: string
  readonly k8sPullSecrets?: string
  readonly k8sMaxRetry?: number
  readonly k8sGpuResource?: string
  readonly distributeJobType?: string
  readonly isStandalone?: string
}

/** `names` are those of the files, which decide how a command is translated. */
export function requestFrom(
  flags: TrainFlags,
  { data, env }: ConfigIni,
  names: readonly string[],
): Omit<JobRequest, 'files'> {
  const kind = kindFrom(flags, env['DISTRIBUTE_MODE'])
  const has = new Set(names)
  return {
    name: flags.jobName,
    group: flags.groupName,
    priority: oneOf(PRIORITIES, flags.mpiPriority ?? flags.k8sPriority ?? 'high', 'priority'),
    kind,
    roles: rolesFrom(flags, kind),
    command: translateLine(flags.startCmd, (path) => has.has(path.replace(/^\.\//, ''))),
    env,
    data,
    ...(kind.endsWith('_K8S') && { pods: podsFrom(flags) }),
  }
}

function podsFrom(flags: TrainFlags): PodSettings {
  const pullSecrets = flags.k8sPullSecrets?.split(/[\s,]+/).filter((name) => name !== '')
  return {
    framework: oneOf(POD_FRAMEWORKS, flags.k8sFramework ?? 'volcano', 'framework'),
    ...(flags.k8sImage !== undefined && { image: flags.k8sImage }),
    ...(flags.k8sNamespace !== undefined && { namespace: flags.k8sNamespace }),
    ...(flags.k8sScheduler !== undefined && { scheduler: flags.k8sScheduler }),
    ...(flags.k8sServiceAccount !== undefined && { serviceAccount: flags.k8sServiceAccount }),
    ...(pullSecrets !== undefined && { pullSecrets }),
    ...(flags.k8sMaxRetry !== undefined && { maxRetry: flags.k8sMaxRetry }),
  }
}

function kindFrom(flags: TrainFlags, written: string | undefined): JobKind {
  const known = JOB_KINDS.find((kind) => kind === written)
  if (known) return known
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

function rolesFrom(flags: TrainFlags, kind: JobKind): readonly Role[] {
  const { mpiNodes = 1, k8sTrainers = 1, k8sPsNum = 1, k8sGpuCards } = flags
  const onMpi = kind.endsWith('_MPI')
  const gpu =
    k8sGpuCards === undefined ? {} : { gpu: { resource: flags.k8sGpuResource ?? 'nvidia.com/gpu', cards: k8sGpuCards } }
  const trainer = onMpi ? {} : { ...sized(flags.k8sCpuCores, flags.k8sMemory), ...gpu }
  const server = onMpi ? {} : sized(flags.k8sPsCores, flags.k8sPsMemory)
  return [
    ...(kind.startsWith('PS_')
      ? [{ name: 'pserver', replicas: onMpi ? mpiNodes : k8sPsNum, resources: server } as const]
      : []),
    { name: 'trainer', replicas: onMpi ? mpiNodes : k8sTrainers, resources: trainer },
  ]
}

const sized = (cpu: number | undefined, memory: string | undefined): Resources => ({
  ...(cpu !== undefined && { cpu }),
  ...(memory !== undefined && { memory }),
})

function oneOf<T extends string>(list: readonly T[], text: string, what: string): T {
  const known = list.find((each) => each === text)
  if (known) return known
  throw new UserError(`There is no ${what} ${text}.`, { code: 'SUBMIT_FLAGS', hint: `Use one of ${list.join(', ')}.` })
}

/** Hooks of former times that would fetch what is not needed and not there. */
export function checkHook(text: string): void {
  if (!/PaddleRec\.tar\.gz|PaddlePaddle\/PaddleRec|setup\.py install/.test(text)) return
  throw new UserError('before_hook.sh fetches PaddleRec, which this job does not use.', {
    code: 'SUBMIT_HOOK',
    hint: 'Write instead: npm install --global --prefix "$PWD/.oarfish" --ignore-scripts oarfish\nWhere oarfish is on the nodes already, no before_hook.sh is needed.',
  })
}
