/** @file Whether a runner can be submitted with a backend: the kind of job they make, and everything that is missing for it, at once. */
import { placeOf, setFix } from '../mend.ts'
import type { ConfigProblem } from '../problem.ts'
import type { Path } from '../walk.ts'
import type { Backend, LoadedBackend } from './backend.ts'
import type { RunnerV1 } from './resolve.ts'

/** DISTRIBUTE_MODE. PaddleRec has the first three. */
export const JOB_KINDS = [
  'PS_CPU_MPI',
  'PS_CPU_K8S',
  'COLLECTIVE_GPU_K8S',
  'COLLECTIVE_CPU_K8S',
  'COLLECTIVE_CPU_MPI',
  'COLLECTIVE_GPU_MPI',
  'SINGLE_K8S',
] as const
export type JobKind = (typeof JOB_KINDS)[number]

export interface Submission {
  readonly kind: JobKind | undefined
  readonly problems: readonly ConfigProblem[]
  /** PaddleRec warns of these and goes on. */
  readonly warnings: readonly string[]
}

/** What submitting a runner comes to. Problems stand in backend.yaml; those of the runner name it. */
export function checkSubmission(loaded: LoadedBackend, runner: RunnerV1): Submission {
  const { backend } = loaded
  const { kind, refused } = kindOf(backend, runner)
  const problems = CHECKS.flatMap(({ when, key, ok, says, example }) => {
    if (!when(backend, runner) || ok(backend)) return []
    return [problemAt(loaded, key, says, example)]
  })
  return {
    kind,
    problems: [...(refused ? [problemAt(loaded, refused.key, refused.says)] : []), ...problems],
    warnings: WARNINGS.filter(({ when, ok }) => when(backend, runner) && !ok(backend)).map(({ says }) => says),
  }
}

interface Refused {
  readonly key: Path
  readonly says: string
}

function kindOf(backend: Backend, runner: RunnerV1): { kind?: JobKind; refused?: Refused } {
  const { cluster_type } = backend
  const { device, fleet_mode } = runner
  if (runner.class === 'train') {
    if (cluster_type === 'k8s') return { kind: 'SINGLE_K8S' }
    const says = `runner ${runner.name} has class train, which runs here; set class: cluster_train to submit it to MPI`
    return { refused: { key: ['cluster_type'], says } }
  }
  if (fleet_mode === 'collective') return { kind: `COLLECTIVE_${upper(device)}_${upper(cluster_type)}` }
  if (fleet_mode !== 'ps') {
    const says = `runner ${runner.name} has fleet_mode: ${fleet_mode}, which cannot be submitted; use ps or collective`
    return { refused: { key: ['cluster_type'], says } }
  }
  if (device === 'cpu') return { kind: `PS_CPU_${upper(cluster_type)}` }
  const says =
    cluster_type === 'k8s'
      ? `PS-GPU on paddlecloud is not supported at this time, comming soon: set device: cpu in runner ${runner.name}`
      : `Paddlecloud with Mpi don't support GPU training, check your config.yaml & backend.yaml: set device: cpu in runner ${runner.name}`
  return { refused: { key: ['cluster_type'], says } }
}

const upper = <T extends string>(word: T) => word.toUpperCase() as Uppercase<T>

interface Check {
  readonly when: (backend: Backend, runner: RunnerV1) => boolean
  readonly key: Path
  readonly ok: (backend: Backend) => boolean
  /** PaddleRec's words, then what they mean here. */
  readonly says: string
  readonly example: unknown
}

const always = () => true
const cloud = ({ backend }: Backend) => backend === 'PaddleCloud'
const overSsh = ({ backend }: Backend) => backend === 'SSH'
const onMpi = ({ cluster_type }: Backend) => cluster_type === 'mpi'
const onPods = ({ cluster_type }: Backend) => cluster_type === 'k8s'

const FS = 'No -- FS_UGI or FS_NAME -- found in your backend.yaml, please check.'
const KEYS =
  'No -- AK or SK -- found in your backend.yaml, please check (OARFISH_AK and OARFISH_SK may stand for them).'
const TRAIN = 'No -- TRAIN_DATA_PATH -- found in your backend.yaml, please add train_data_path in your backend yaml.'
const CHECKS: readonly Check[] = [
  required(cloud, ['config', 'fs_name'], FS, 'hdfs://namenode:9870'),
  required(cloud, ['config', 'fs_ugi'], FS, 'user,password'),
  required(cloud, ['submit', 'ak'], KEYS, 'your access key'),
  required(cloud, ['submit', 'sk'], KEYS, 'your secret key'),
  required(always, ['submit', 'files'], 'No -- files -- found in your backend.yaml, please check.', './*.py ./*.yaml'),
  required(onMpi, ['config', 'train_data_path'], TRAIN, '/user/your/path'),
  required(overSsh, ['submit', 'hostfile'], 'no hosts: name a file that lists them, user@host:port each.', 'hosts'),
  required(always, ['submit', 'start_cmd'], 'no command.', 'python -m paddlerec.run -m config.yaml'),
  {
    when: always,
    key: ['config', 'paddle_version'],
    ok: ({ config }) => notBefore(config.paddle_version, [1, 7, 2]),
    says: 'expected a version from 1.7.2 on',
    example: '1.7.2',
  },
]

const noted = (when: Check['when'], key: string, says: string) => ({ when, says, ok: filled(['config', key]) })
const WARNINGS: readonly Pick<Check, 'when' | 'ok' | 'says'>[] = [
  noted(
    always,
    'output_path',
    'Job output_path not set! What the job writes stays on its nodes; set config.output_path to collect it.',
  ),
  noted(onMpi, 'test_data_path', 'Job test_data_path not set! There will be no ./test_data on the nodes.'),
  noted(onMpi, 'thirdparty_path', 'Job thirdparty_path not set! There will be no ./thirdparty on the nodes.'),
  noted(onPods, 'afs_remote_mount_point', 'Job afs_remote_mount_point not set! There will be nothing in ./afs/.'),
  {
    when: (backend, { fleet_mode }) => onMpi(backend) && fleet_mode === 'collective',
    ok: () => false,
    says: 'collective training over MPI: PaddleRec refuses this; mpirun starts the trainers, which exchange gradients over MPI.',
  },
  {
    when: (_backend, { fleet_mode, device }) => fleet_mode === 'collective' && device === 'cpu',
    ok: () => false,
    says: 'collective training on the CPU: PaddleRec refuses this.',
  },
]

function required(when: Check['when'], key: Path, says: string, example: unknown): Check {
  return { when, key, says, example, ok: filled(key) }
}

function filled([group, key]: Path): Check['ok'] {
  return (backend) => {
    const values = backend[group as 'config' | 'submit'] as Readonly<Record<string, unknown>>
    return String(values[key as string] ?? '').trim() !== ''
  }
}

function notBefore(version: string, least: readonly number[]): boolean {
  const numbers = version.split('.').map((part) => Number.parseInt(part, 10))
  const first = least.findIndex((number, i) => (numbers[i] ?? 0) !== number)
  return first < 0 || (numbers[first] ?? 0) > least[first]!
}

/** A problem of backend.yaml, at its key. */
export function problemAt({ source }: LoadedBackend, key: Path, message: string, example?: unknown): ConfigProblem {
  return {
    code: example === undefined ? 'CONFIG_CONFLICT' : 'CONFIG_MISSING_KEY',
    key: key.join('.'),
    message,
    place: placeOf(source, key, 'value'),
    fix: example === undefined ? undefined : setFix(source, key, example),
  }
}
