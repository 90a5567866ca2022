/** @file Keys that are right alone and wrong together. */
import { placeOf, setFix } from './mend.ts'
import type { ConfigProblem } from './problem.ts'
import type { RunnerKeys, UserConfig } from './schema.ts'
import type { ConfigSource } from './source.ts'

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
