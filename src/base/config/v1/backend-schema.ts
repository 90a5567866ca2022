/** @file backend.yaml as one zod schema: where a job goes, what it reads and writes there, what it needs. */
import { z } from 'zod'
import { choice, count, flag, group, optionalCount, optionalText, text } from '../option.ts'

export const BACKENDS = ['PaddleCloud', 'MPI', 'Slurm', 'Kubernetes', 'SSH'] as const
export type BackendName = (typeof BACKENDS)[number]
export const CLUSTER_TYPES = ['mpi', 'k8s'] as const
export type ClusterType = (typeof CLUSTER_TYPES)[number]
export const PRIORITIES = ['normal', 'high', 'very_high'] as const
export type Priority = (typeof PRIORITIES)[number]
/** What makes the pods of a job on Kubernetes: Volcano, Kubernetes' own Jobs, or PaddlePaddle's operator. */
export const POD_FRAMEWORKS = ['volcano', 'job', 'paddlejob'] as const
export type PodFramework = (typeof POD_FRAMEWORKS)[number]
/** The first comes first. */
export const PRIORITY_ORDER: readonly Priority[] = ['very_high', 'high', 'normal']

/** The seven flags of `config.communicator`; those without a number take the largest thread_num. */
const COMMUNICATOR = group('config.communicator', 'Flags of the parameter server, given to each process.', {
  FLAGS_communicator_is_sgd_optimizer: count(0, 0, 'Given on.'),
  FLAGS_communicator_send_queue_size: optionalCount(1, 'Default: the largest thread_num.', 5),
  FLAGS_communicator_thread_pool_size: count(32, 1, 'Given on.'),
  FLAGS_communicator_max_merge_var_num: optionalCount(1, 'Default: the largest thread_num.', 5),
  FLAGS_communicator_max_send_grad_num_before_recv: optionalCount(1, 'Default: the largest thread_num.', 5),
  FLAGS_communicator_fake_rpc: count(0, 0, 'Given on.'),
  FLAGS_rpc_retry_times: count(3, 0, 'Given on.'),
})

export const BACKEND_CONFIG = group('config', 'File system and data of the job.', {
  paddle_version: z
    .string()
    .regex(/^\d+(\.\d+)*([.\-+]?\w+)*$/)
    .default('1.7.2')
    .meta({ description: 'Checked (from 1.7.2 on) and not used: there is no PaddlePaddle.', expected: 'a version' }),
  use_python3: flag(false, '1: `python` in a pipe_command is python3.'),
  fs_name: text('', 'File system of the data: `hdfs://HOST:PORT`, `afs://HOST:PORT`, `s3://BUCKET`, `file:///DIR`.'),
  fs_ugi: text('', '`user,password` of it.'),
  output_path: text('', 'Folder on it for what the job wrote; empty: it stays on the nodes.'),
  train_data_path: text('', 'MPI: folder on it, dealt out to the nodes as `./train_data`.'),
  test_data_path: text('', 'MPI: the same as `./test_data`.'),
  thirdparty_path: text('', 'MPI: folder that every node gets whole, as `./thirdparty`.'),
  afs_remote_mount_point: text(
    '',
    'Kubernetes: volume that every pod sees at `./afs/`: `pvc://CLAIM/FOLDER`, `nfs://HOST/PATH`, `csi://DRIVER?ATTRIBUTE=VALUE`, or `/PATH` of every node.',
  ),
  communicator: z.strictObject(COMMUNICATOR.shape).prefault({}).meta({ description: COMMUNICATOR.intro }),
})

/** As the API server parses it; it would not say which key is wrong. */
const memory = (description: string) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?([KMGTPE]i|[kMGTPE]|[eE]\d+)?$/)
    .default('4Gi')
    .meta({ description, expected: 'an amount like `4Gi` or `512Mi`' })

export const BACKEND_SUBMIT = group('submit', 'Name, resources and files of the job.', {
  ak: text('', 'Access key of PaddleCloud.'),
  sk: text('', 'Secret key of PaddleCloud.'),
  server: optionalText('Address of the job server.', 'http://127.0.0.1:8180'),
  priority: choice(PRIORITIES, 'high', 'Who comes first in the queue of a group.'),
  job_name: z
    .string()
    .regex(/^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/)
    .default('PaddleRecClusterJob')
    .meta({
      description: 'Name of the job, and how its folder begins.',
      expected: 'up to 63 letters, digits, `_`, `-` and `.`',
    }),
  group: text('paddle', 'Whose resources are used.'),
  start_cmd: text('python -m paddlerec.run -m config.yaml', 'What each process of the job runs.'),
  files: text('', 'Files for the nodes, relative to the working folder: paths and patterns, separated by spaces.'),
  nodes: count(1, 1, 'MPI, SSH: nodes; each has one server and one trainer, or one trainer (collective).'),
  hostfile: optionalText('MPI: hosts, as mpirun reads them. SSH: user@host:port, one a line.', 'hosts'),
  k8s_trainers: count(1, 1, 'Kubernetes: trainer pods.'),
  k8s_cpu_cores: optionalCount(1, 'Kubernetes: cores of a trainer; default 2, collective 1.', 2),
  k8s_gpu_card: count(1, 1, 'Kubernetes, collective on GPUs: cards of a trainer.'),
  k8s_ps_num: count(1, 1, 'Kubernetes: server pods.'),
  k8s_ps_cores: count(2, 1, 'Kubernetes: cores of a server.'),
  k8s_memory: memory('Kubernetes: memory of a trainer.'),
  k8s_ps_memory: memory('Kubernetes: memory of a server.'),
  k8s_gpu_resource: text('nvidia.com/gpu', 'Kubernetes: what a card is called.'),
  k8s_image: optionalText('Kubernetes: image of the pods.', 'oarfish:0.1'),
  k8s_namespace: optionalText('Kubernetes: where the job lies; default: that of the kubeconfig.', 'training'),
  k8s_framework: choice(
    POD_FRAMEWORKS,
    'volcano',
    "Kubernetes: what makes the pods. volcano: all at once or none; job: Kubernetes' own Jobs; paddlejob: PaddlePaddle's operator.",
  ),
  k8s_scheduler: optionalText("Kubernetes: who places the pods; default: Volcano's, for jobs of Volcano.", 'volcano'),
  k8s_service_account: optionalText('Kubernetes: account of the pods; default: the job makes its own.', 'oarfish-pods'),
  k8s_pull_secrets: text('', 'Kubernetes: secrets by which the image is pulled, separated by spaces.'),
  k8s_max_retry: optionalCount(0, 'Kubernetes, volcano: starts of all pods after one has failed; default 3.', 3),
})

export const backendV1 = z.strictObject({
  backend: z.enum(BACKENDS).meta({ description: 'Where jobs are submitted to.', example: 'PaddleCloud' }),
  cluster_type: z
    .enum(CLUSTER_TYPES)
    .optional()
    .meta({ description: 'The kind of cluster behind PaddleCloud.', example: 'mpi' }),
  config: z.strictObject(BACKEND_CONFIG.shape).prefault({}).meta({ description: BACKEND_CONFIG.intro }),
  submit: z.strictObject(BACKEND_SUBMIT.shape).prefault({}).meta({ description: BACKEND_SUBMIT.intro }),
  name: text('', 'Kept as it is.'),
})
export type UserBackend = z.infer<typeof backendV1>
