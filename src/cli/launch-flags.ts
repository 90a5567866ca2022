/** @file The flags of Paddle's two parameter-server launchers: what each is, and what becomes of it here. */

/**
 * used: as in the original. collective: of jobs without servers; beside parameter-server flags they have no effect, in the
 * original too. unused: Oarfish does not need it. elastic: etcd, which this build does not have. refused: will not be part.
 * ours: not in the original.
 */
export type FlagEffect = 'used' | 'collective' | 'unused' | 'elastic' | 'refused' | 'ours'

export interface Flag {
  readonly type: 'text' | 'whole' | 'switch'
  readonly default?: string | number | undefined
  readonly effect: FlagEffect
  readonly what: string
}

const flag =
  <T extends Flag['type'], D extends string | number>(type: T) =>
  (what: string, effect: FlagEffect = 'used', fallback?: D): Flag & { readonly type: T } => ({
    type,
    what,
    effect,
    default: fallback,
  })
const text = flag<'text', string>('text')
const whole = flag<'whole', number>('whole')

/** `fleetrun`, the launcher of Paddle 2.x and later. */
export const FLEETRUN_FLAGS = {
  worker_num: text(
    'workers to start here, each on an automatic port: a number, or min:max, of which some may leave and join',
  ),
  join: {
    type: 'switch',
    what: 'one more worker for the running job of min:max workers whose logs are in --log_dir',
    effect: 'ours',
  },
  server_num: whole('servers to start here, each on an automatic port'),
  workers: text('host:port of every worker of the job; those of this host are started'),
  servers: text('host:port of every server of the job; those of this host are started'),
  trainer_num: whole('another name of worker_num'),
  trainers: text('another name of workers'),
  http_port: whole('port of PADDLE_GLOO_HTTP_ENDPOINT; nothing of Oarfish listens there'),
  log_dir: text('folder of the logs', 'used', 'log'),
  run_mode: text('ps or collective; found out from the other flags when it is not given'),
  job_id: text("the job's name, for all its processes"),
  stop_timeout: whole('seconds that processes may take to end after Ctrl+C, until they are killed', 'ours', 30),
  json: { type: 'switch', what: 'print events as JSON lines', effect: 'ours' },
  name: text('what the run is called in its run folder', 'ours'),
  dashboard: { type: 'switch', what: 'show the run on a page while it runs; its address is printed', effect: 'ours' },
  metrics_port: text("first port of Prometheus' metrics: servers have the first ones, then workers or ranks", 'ours'),
  no_run_dir: { type: 'switch', what: 'write no run folder; see runner.run_dir', effect: 'ours' },
  ips: text('hosts of a collective job, in the order of ranks; each starts its own', 'collective'),
  gpus: text('devices of a collective job on this host; one process each', 'collective'),
  devices: text('another name of gpus', 'collective'),
  selected_gpus: text('another name of gpus', 'collective'),
  xpus: text('another name of gpus', 'collective'),
  selected_xpus: text('another name of gpus', 'collective'),
  npus: text('another name of gpus', 'collective'),
  nproc_per_node: whole('processes of a collective job on each host', 'collective'),
  nnodes: text('hosts of a collective job that find each other at the master: a number, or min:max', 'collective', '1'),
  master: text('host:port where the hosts of a collective job find each other', 'collective'),
  rank: whole('this host among them; found at the master when it is not given', 'collective'),
  host: text('the address of this host', 'collective'),
  start_port: whole('port of the first process of each host; the others follow', 'collective', 6070),
  sort_ip: text('order hosts by address: True or False', 'collective', 'False'),
  max_restart: whole(
    'starts from the last cut, without a new one between them, after processes were killed',
    'used',
    3,
  ),
  elastic_timeout: whole('seconds without another host until a job of min:max starts', 'collective', 30),
  hosts: text('user@host:port,...: start the job there, over ssh, --server_num and --worker_num on each', 'ours'),
  dispatch: text('with --hosts: upload this folder; otherwise the current folder must be there too', 'ours'),
  root_dir: text(
    'with --dispatch: folder on the hosts that gets one for each job (default: oarfish in the home folder)',
    'ours',
  ),
  nic: text('with --hosts: network interface by which they reach each other (default: the address of ssh)', 'ours'),
  host_timeout: whole('with --hosts: seconds that a host which is gone may take to come back', 'ours', 90),
  install: { type: 'switch', what: 'with --hosts: ship this package to hosts that lack it', effect: 'ours' },
  require_device: { type: 'switch', what: 'fail rather than compute on the CPU', effect: 'ours' },
  backend: text('what sums gradients of a collective job: see runner.collective', 'unused', 'auto'),
  cluster_topo_path: text('topology of automatic parallelism', 'unused'),
  rank_mapping_path: text('placement of automatic parallelism', 'unused'),
  enable_auto_mapping: text('placement of automatic parallelism', 'unused'),
  legacy: text('which generation of the original it is', 'unused'),
  log_level: text('how much the original logs', 'unused', 'INFO'),
  log_overwrite: text('logs are always new', 'unused'),
  enable_gpu_log: text('log of the devices', 'unused'),
  gloo_port: whole('a port of Gloo', 'unused', 6767),
  with_gloo: text('Gloo, which Oarfish does not need', 'unused', '1'),
  elastic_level: text('what happens to the others when a host fails: all start again', 'unused', '-1'),
  auto_parallel_config: text('automatic parallelism', 'unused'),
  auto_cluster_config: text('automatic parallelism', 'unused'),
  auto_tuner_json: text('automatic tuning', 'unused'),
  elastic_server: text('etcd of an elastic job', 'elastic'),
  elastic_pre_hook: text('command before each start of an elastic job', 'elastic'),
  np: text('number of hosts of an elastic job', 'elastic'),
  scale: whole('change of that number', 'elastic'),
  force: text('force that change', 'elastic'),
  heter_workers: text('heterogeneous training', 'refused'),
  heter_worker_num: text('heterogeneous training', 'refused'),
  heter_devices: text('heterogeneous training', 'refused'),
  coordinators: text('federated training', 'refused'),
  coordinator_num: text('federated training', 'refused'),
} as const satisfies Record<string, Flag>

/** `launch_ps`, the launcher of Paddle 1.5 to 1.8. */
export const LAUNCH_PS_FLAGS = {
  worker_num: whole('workers to start', 'used', 2),
  server_num: whole('servers to start', 'used', 2),
  endpoints: text('host:port of every server; all of this host'),
  start_port: whole('port of the first server when there are no endpoints; the others follow', 'used', 6170),
  log_dir: text('folder of the logs', 'used', 'logs'),
  print_config: text('print the flags before starting; False: do not', 'used', 'True'),
  cluster_node_ips: text('read and not used by the original either', 'used', '127.0.0.1'),
  node_ip: text('read and not used by the original either', 'used', '127.0.0.1'),
  stop_timeout: whole('seconds that processes may take to end after Ctrl+C, until they are killed', 'ours', 30),
  json: { type: 'switch', what: 'print events as JSON lines', effect: 'ours' },
} as const satisfies Record<string, Flag>

type Flags = Readonly<Record<string, Flag>>
type ValueOf<F extends Flag> = F['type'] extends 'whole' ? number : F['type'] extends 'switch' ? boolean : string

/** What was typed, by flag. */
export type TypedFlags<F extends Flags> = { readonly [K in keyof F]?: ValueOf<F[K]> }
