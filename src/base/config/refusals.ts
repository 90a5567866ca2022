/** @file Settings that are refused though each has the right type: what this build does not have (one row a feature, taken out when it comes), what Oarfish will not have, and keys that are wrong together. */
import { placeOf, setFix } from './mend.ts'
import { UNNEEDED } from './paddlerec-keys.ts'
import type { ConfigProblem } from './problem.ts'
import { type RunnerKeys, runnerSchema, type UserConfig } from './schema.ts'
import { type ConfigSource, isWritten } from './source.ts'
import { defaultOf, type Path } from './walk.ts'

/** Values that would change the result if they were ignored. `instead`: what to write; undefined = leave the key out. */
interface Refusal {
  readonly key: string
  readonly when: (value: never) => boolean
  readonly code: 'CONFIG_NOT_SUPPORTED'
  readonly message: string
  readonly instead?: unknown
}

const REFUSALS: readonly Refusal[] = [
  {
    key: 'with_coordinator',
    when: (value: number) => value !== 0,
    code: 'CONFIG_NOT_SUPPORTED',
    message: 'federated training is not part of Oarfish',
    instead: 0,
  },
]

/** Keys whose feature is still to come and whose absence leaves the trained model as it is. */
// biome-ignore format: a list
const WITHOUT_EFFECT: readonly string[] = [
  'dump_fields', 'dump_param', 'example_count_method', 'need_dump', 'need_infer_dump', 'need_train_dump',
  'runner_result_dump_path',
]

export function refusals(user: UserConfig, source: ConfigSource): ConfigProblem[] {
  const runner = user.runner as Readonly<Record<string, unknown>>
  return REFUSALS.flatMap((row) => {
    const value = runner[row.key]
    const path = ['runner', row.key]
    return value === undefined || !isWritten(source, path) || !row.when(value as never)
      ? []
      : [refused(row, path, source)]
  })
}

function refused({ code, message, instead }: Refusal, path: Path, source: ConfigSource): ConfigProblem {
  return {
    code,
    key: path.join('.'),
    message,
    place: placeOf(source, path, 'value'),
    fix: setFix(source, path, instead),
  }
}

/** What is worth saying once about keys that have no effect here. */
export function buildNotices(user: UserConfig, source: ConfigSource): string[] {
  const runner = user.runner as Readonly<Record<string, unknown>>
  const written = (keys: readonly string[]) => keys.filter((key) => isWritten(source, ['runner', key]))
  const unneeded = written(Object.keys(UNNEEDED.shape))
  const later = written(WITHOUT_EFFECT).filter((key) => !isDefault(key, runner[key]))
  const list = (keys: readonly string[]) => keys.map((key) => `runner.${key}`)
  const tables = tableKeysWithoutEffect(user)
  return [
    ...(unneeded.length > 0 ? [`PaddleRec keys that Oarfish does not need: ${list(unneeded).join(', ')}`] : []),
    ...(later.length + tables.length > 0
      ? [`not in this build yet, without effect on this run: ${[...list(later), ...tables].join(', ')}`]
      : []),
  ]
}

/** Keys of table_parameters that are for caches, converters and GPUs. */
function tableKeysWithoutEffect({ table_parameters }: UserConfig): string[] {
  return Object.entries(table_parameters).flatMap(([table, parameters]) => {
    const { accessor = {}, ...own } = parameters
    const ctr = accessor.ctr_accessor_param ?? {}
    const written = [
      ...TABLE_KEYS.filter((key) => own[key] !== undefined),
      ...(accessor.table_accessor_save_param ? ['accessor.table_accessor_save_param'] : []),
      ...CTR_KEYS.filter((key) => ctr[key] !== undefined).map((key) => `accessor.ctr_accessor_param.${key}`),
    ]
    return written.map((key) => `table_parameters.${table}.${key}`)
  })
}

const TABLE_KEYS = [
  'enable_sparse_table_cache',
  'sparse_table_cache_rate',
  'sparse_table_cache_file_num',
  'enable_revert',
  'shard_merge_rate',
  'use_gpu_graph',
] as const
const CTR_KEYS = ['ssd_unseenday_threshold', 'load_filter_slots', 'save_filter_slots'] as const

function isDefault(key: string, value: unknown): boolean {
  const schema = runnerSchema.shape[key as keyof typeof runnerSchema.shape]
  return JSON.stringify(defaultOf(schema)) === JSON.stringify(value)
}

interface Conflict {
  /** The key whose value is to change. */
  readonly key: keyof RunnerKeys
  readonly when: (runner: RunnerKeys) => boolean
  readonly message: (runner: RunnerKeys) => string
  readonly instead: (runner: RunnerKeys) => unknown
}

const CONFLICTS: readonly Conflict[] = [
  {
    key: 'infer_end_epoch',
    when: (runner) => runner.infer_end_epoch <= runner.infer_start_epoch,
    message: (runner) =>
      `expected more than infer_start_epoch (${runner.infer_start_epoch}), since it is one past the last epoch, got ${runner.infer_end_epoch}`,
    instead: (runner) => runner.infer_start_epoch + 1,
  },
  {
    key: 'dump_fields_path',
    when: (runner) => runner.need_dump && runner.dump_fields_path === '',
    message: () => 'need_dump is True, so a folder for the dumped fields is needed',
    instead: () => 'dump',
  },
  {
    key: 'reader_type',
    when: ({ sync_mode, reader_type }) => sync_mode === 'gpubox' && reader_type !== 'InmemoryDataset',
    message: ({ reader_type }) =>
      `${reader_type} cannot feed sync_mode gpubox, whose passes are loaded into memory before they train`,
    instead: () => 'InmemoryDataset',
  },
  {
    key: 'local_shuffle',
    when: (runner) => runner.local_shuffle && runner.reader_type !== 'InmemoryDataset',
    message: ({ reader_type }) =>
      `${reader_type} does not support local shuffle, please use InmemoryDataset for local_shuffle`,
    instead: () => false,
  },
  {
    key: 'global_shuffle',
    when: (runner) => runner.global_shuffle && runner.reader_type !== 'InmemoryDataset',
    message: ({ reader_type }) =>
      `${reader_type} does not support global shuffle, please use InmemoryDataset for global_shuffle`,
    instead: () => false,
  },
]

export function conflicts({ runner }: UserConfig, source: ConfigSource): ConfigProblem[] {
  return CONFLICTS.filter(({ when }) => when(runner)).map(({ key, message, instead }) => {
    const path = ['runner', key]
    return {
      code: 'CONFIG_CONFLICT',
      key: path.join('.'),
      message: message(runner),
      place: placeOf(source, path, 'value'),
      fix: setFix(source, path, instead(runner)),
    }
  })
}
