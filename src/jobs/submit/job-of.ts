/** @file From a config and a backend to the one description of a job. Pure. */
import { basename } from 'node:path'
import { type Backend, type JobKind, phasesOf, type RunConfig, type RunnerV1 } from '../../base/config/index.ts'
import { commandOf } from './command.ts'
import type { TakenFile } from './files.ts'
import type { Job, JobData, PodSettings, Resources, RoleSpec } from './job.ts'
import { groupOf } from './job.ts'
import { saidOf } from './train-flags.ts'

export interface JobOptions {
  readonly config: RunConfig
  readonly runner: RunnerV1
  readonly backend: Backend
  readonly kind: JobKind
  readonly files: readonly TakenFile[]
  /** Name of the credentials. */
  readonly profile: string
}

export function jobOf({ config, runner, backend, kind, files, profile }: JobOptions): Job {
  const { submit } = backend
  const roles = ROLES[kind](backend)
  const names = files.map(({ path }) => basename(path))
  const threads = Math.max(1, ...phasesOf(config, runner).map(({ thread_num }) => thread_num))
  const several = config.mode.length > 1 ? { OARFISH_MODE: runner.name } : {}
  return {
    name: submit.job_name,
    group: groupOf(submit.group),
    priority: submit.priority,
    kind,
    roles,
    ...saidOf(kind, roles),
    command: commandOf(submit.start_cmd, names),
    env: { ...envOf(backend, kind, threads), ...several },
    files: files.map(({ path }) => ({ name: basename(path), content: { path } })),
    data: dataOf(backend),
    secrets: { profile, env: backend.config.fs_ugi === '' ? [] : ['fs_ugi'] },
    pods: backend.cluster_type === 'k8s' ? podsOf(backend) : undefined,
  }
}

function podsOf({ submit }: Backend): PodSettings {
  const pullSecrets = submit.k8s_pull_secrets.split(/[\s,]+/).filter((name) => name !== '')
  return {
    framework: submit.k8s_framework,
    image: submit.k8s_image,
    namespace: submit.k8s_namespace,
    scheduler: submit.k8s_scheduler,
    serviceAccount: submit.k8s_service_account,
    pullSecrets: pullSecrets.length > 0 ? pullSecrets : undefined,
    maxRetry: submit.k8s_max_retry,
  }
}

const role = (name: RoleSpec['name'], replicas: number, resources: Resources = {}): RoleSpec => ({
  name,
  replicas,
  resources,
})

const podTrainers = (cores: number, gpu: boolean) => (backend: Backend) => {
  const { k8s_trainers, k8s_cpu_cores, k8s_memory, k8s_gpu_card, k8s_gpu_resource } = backend.submit
  const cards = gpu ? { resource: k8s_gpu_resource, cards: k8s_gpu_card } : undefined
  return role('trainer', k8s_trainers, { cpu: k8s_cpu_cores ?? cores, memory: k8s_memory, gpu: cards })
}

const podServers = ({ submit }: Backend) =>
  role('pserver', submit.k8s_ps_num, { cpu: submit.k8s_ps_cores, memory: submit.k8s_ps_memory })

const nodeTrainers = ({ submit }: Backend) => role('trainer', submit.nodes)

const ROLES: Readonly<Record<JobKind, (backend: Backend) => readonly RoleSpec[]>> = {
  PS_CPU_MPI: (backend) => [role('pserver', backend.submit.nodes), nodeTrainers(backend)],
  COLLECTIVE_CPU_MPI: (backend) => [nodeTrainers(backend)],
  COLLECTIVE_GPU_MPI: (backend) => [nodeTrainers(backend)],
  PS_CPU_K8S: (backend) => [podServers(backend), podTrainers(2, false)(backend)],
  COLLECTIVE_CPU_K8S: (backend) => [podTrainers(1, false)(backend)],
  COLLECTIVE_GPU_K8S: (backend) => [podTrainers(1, true)(backend)],
  SINGLE_K8S: (backend) => [{ ...podTrainers(2, false)(backend), replicas: 1 }],
}

/** The entries of config.ini, in PaddleRec's order. */
function envOf({ config, cluster_type }: Backend, kind: JobKind, threads: number): Readonly<Record<string, string>> {
  const flags = Object.entries({ ...config.communicator, ...queues(config.communicator, threads) })
  return {
    PADDLE_PADDLEREC_ROLE: 'WORKER',
    PADDLEREC_CLUSTER_TYPE: cluster_type.toUpperCase(),
    use_python3: config.use_python3 ? '1' : '0',
    CPU_NUM: String(threads),
    GLOG_v: '0',
    ...(cluster_type === 'mpi' ? { FLAGS_rpc_deadline: '300000' } : {}),
    ...Object.fromEntries(FLAG_ORDER.map((name) => [name, String(flags.find(([key]) => key === name)?.[1] ?? '')])),
    DISTRIBUTE_MODE: kind,
  }
}

const QUEUES = [
  'FLAGS_communicator_send_queue_size',
  'FLAGS_communicator_max_merge_var_num',
  'FLAGS_communicator_max_send_grad_num_before_recv',
] as const

const FLAG_ORDER = [
  'FLAGS_communicator_is_sgd_optimizer',
  'FLAGS_communicator_send_queue_size',
  'FLAGS_communicator_thread_pool_size',
  'FLAGS_communicator_max_merge_var_num',
  'FLAGS_communicator_max_send_grad_num_before_recv',
  'FLAGS_communicator_fake_rpc',
  'FLAGS_rpc_retry_times',
] as const

const queues = (written: Backend['config']['communicator'], threads: number) =>
  Object.fromEntries(QUEUES.map((name) => [name, written[name] ?? threads]))

function dataOf({ config, cluster_type }: Backend): JobData {
  const { fs_name, output_path, train_data_path, test_data_path, thirdparty_path, afs_remote_mount_point } = config
  const written =
    cluster_type === 'mpi'
      ? { train: train_data_path, test: test_data_path, thirdparty: thirdparty_path }
      : { mount: afs_remote_mount_point }
  const all = { fileSystem: fs_name, output: output_path, ...written }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
}
