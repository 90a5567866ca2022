/** @file The options of PaddlePaddle's first trainer and its server: what each is, and what becomes of it here. */

export const PROGRAMS = ['trainer', 'pserver'] as const
/** Whose options are meant: `paddle train` or `paddle pserver`. */
export type TrainerProgram = (typeof PROGRAMS)[number]

/** used: as in the original. unused: read, and without effect here. */
export type TrainerOptionEffect = 'used' | 'unused'

export interface TrainerOption {
  readonly type: 'whole' | 'flag' | 'text'
  readonly default: number | boolean | string | undefined
  readonly of: readonly TrainerProgram[]
  readonly what: string
  readonly effect: TrainerOptionEffect
  readonly min?: number
  readonly max?: number
}

type Rest = Partial<Pick<TrainerOption, 'of' | 'effect' | 'min' | 'max'>>
const common = { of: ['trainer'], effect: 'used' } as const satisfies Rest

const whole = <D extends number | undefined>(fallback: D, what: string, rest: Rest = {}) =>
  ({ ...common, type: 'whole', min: 0, max: 2 ** 31 - 1, default: fallback, what, ...rest }) as const
const flag = <D extends boolean | undefined>(fallback: D, what: string, rest: Rest = {}) =>
  ({ ...common, type: 'flag', default: fallback, what, ...rest }) as const
const text = (fallback: string, what: string, rest: Rest = {}) =>
  ({ ...common, type: 'text', default: fallback, what, ...rest }) as const

const unused = { effect: 'unused' } as const
const both = { of: PROGRAMS } as const

export const TRAINER_OPTIONS = {
  config: text('./trainer_config.ts', 'the model and its data: a trainer_config.ts'),
  config_args: text('', 'name=value,name=value: what getConfigArg() of the configuration reads'),
  job: text('train', 'train, or test: only evaluate the saved passes from --test_pass on'),
  num_passes: whole(100, 'how often the training data is read', { min: 1 }),
  start_pass: whole(0, 'the first pass; its predecessor is loaded from --save_dir'),
  trainer_count: whole(1, 'threads of a trainer; they share each batch', { min: 1, max: 256 }),
  log_period: whole(100, 'batches between two lines about cost; 0: none'),
  dot_period: whole(1, 'batches between two dots; 0: none'),
  test_period: whole(0, 'batches between two tests; here there is one at the end of each pass', unused),
  test_pass: whole(undefined, 'with --job=test: the first pass that is tested'),
  saving_period: whole(1, 'passes between two saved models; 0: none'),
  save_dir: text('', 'folder of the saved models, pass-00000 and so on; empty: none is saved'),
  init_model_path: text('', 'a saved pass whose weights are the first ones'),
  seed: whole(1, 'of first weights and of the order of samples; the same on all nodes', both),
  local: flag(undefined, 'train alone; 0: with the servers of --pservers'),
  use_gpu: flag(false, 'compute on a device of this host, else on the CPU with a notice'),
  pservers: text(
    '127.0.0.1',
    'the hosts of all servers, separated by commas; host:port for one whose first port is not --port',
  ),
  trainer_id: whole(0, 'which of the trainers this is, from 0 on; node 0 saves'),
  num_gradient_servers: whole(1, 'how many trainers the job has', { ...both, min: 1, max: 1024 }),
  port: whole(20134, 'the first port of each server', { ...both, min: 1, max: 65535 }),
  ports_num: whole(1, 'ports of dense weights, from --port on', { ...both, min: 1, max: 64 }),
  ports_num_for_sparse: whole(0, 'ports of sparse tables, after those of dense weights', { ...both, max: 64 }),
  nics: text('', 'the network interface that servers listen on; empty: all', both),
  comment: text('', 'shown in the list of processes', both),
  log_dir: text('./log', 'folder of paddle_trainer.INFO and paddle_pserver2.INFO', both),
  average_test_period: whole(0, 'tests of averaged weights', unused),
  checkgrad_eps: text('', 'of --job=checkgrad', unused),
  distribute_test: flag(false, 'whether tests are shared by the trainers', unused),
  enable_grad_share: whole(0, 'how threads of the original merge gradients', unused),
  gpu_id: whole(0, 'the first GPU', unused),
  grad_share_block_num: whole(0, 'how threads of the original merge gradients', unused),
  loadsave_parameters_in_pserver: flag(false, 'whether servers save; here they always do', unused),
  log_clipping: flag(false, 'log of clipped values', unused),
  log_period_server: whole(500, "period of the server's own statistics", { ...both, ...unused }),
  parallel_nn: flag(false, 'layers on several devices', unused),
  prev_batch_state: flag(false, 'state of recurrent layers between batches', unused),
  rdma_tcp: text('tcp', 'how nodes talk; always TCP here', { ...both, ...unused }),
  save_only_one: flag(false, 'whether former passes are removed', unused),
  show_parameter_stats_period: whole(0, 'statistics of weights', unused),
  use_old_updater: flag(false, 'an older way to update', unused),
} as const satisfies Record<string, TrainerOption>

type Table = typeof TRAINER_OPTIONS
type ValueOf<O extends TrainerOption> = O['type'] extends 'whole' ? number : O['type'] extends 'flag' ? boolean : string
type Filled<O extends TrainerOption> = undefined extends O['default'] ? ValueOf<O> | undefined : ValueOf<O>

export type TrainerOptionName = keyof Table
/** What was typed, by option. */
export type TypedTrainerOptions = { readonly [K in TrainerOptionName]?: ValueOf<Table[K]> }
/** With the defaults of the original. */
export type TrainerOptions = { readonly [K in TrainerOptionName]: Filled<Table[K]> }
