/** @file Forms in which PaddleRec's own configs say what the schema says otherwise: keys beside their group, a batch size under another name, nothing to train. */
import { isRecord } from './override.ts'

export interface Normalized {
  readonly data: unknown
  /** It has data to evaluate and none to train on. */
  readonly onlyEvaluates: boolean
  readonly notices: readonly string[]
}

const BESIDE_RUNNER = ['fs_name', 'fs_ugi'] as const
const TRAINED = ['train_data_dir', 'train_batch_size', 'epochs'] as const
const EVALUATED = ['test_data_dir', 'data_dir', 'infer_data_dir'] as const

/** A copy in the form that the schema describes; what is neither is left for the schema to refuse. */
export function normalizeConfig(data: unknown): Normalized {
  if (!isRecord(data) || !isRecord(data['runner'])) return { data, onlyEvaluates: false, notices: [] }
  const { fs_name: _name, fs_ugi: _ugi, ...groups } = data
  const moved = BESIDE_RUNNER.flatMap((key) => (data[key] ? [[key, data[key]]] : []))
  const runner: Record<string, unknown> = { ...Object.fromEntries(moved), ...data['runner'] }
  const notices: string[] = []
  const onlyEvaluates = !TRAINED.some((key) => key in runner) && EVALUATED.some((key) => runner[key] !== undefined)
  const evaluated = EVALUATED.find((key) => runner[key] !== undefined)
  if (onlyEvaluates) runner['test_data_dir'] ??= runner[evaluated!]
  if (runner['train_batch_size'] === undefined) {
    const found = batchSize(runner, data['hyper_parameters'], onlyEvaluates)
    if (found) {
      runner['train_batch_size'] = found.value
      notices.push(`runner.train_batch_size is not written: ${found.key} (${found.value}) is taken`)
    }
  }
  return { data: { ...groups, runner }, onlyEvaluates, notices }
}

/** PaddleRec takes what a reader gives for a batch where no size is written; its readers then take theirs from one of these. */
function batchSize(runner: Record<string, unknown>, hyper: unknown, onlyEvaluates: boolean) {
  const places = [
    ...(onlyEvaluates ? [['runner.infer_batch_size', runner['infer_batch_size']] as const] : []),
    ['runner.batch_size', runner['batch_size']] as const,
    ['runner.reader_batch_size', runner['reader_batch_size']] as const,
    ['hyper_parameters.batch_size', isRecord(hyper) ? hyper['batch_size'] : undefined] as const,
  ]
  const found = places.find(([, value]) => typeof value === 'number')
  return found && { key: found[0], value: found[1] as number }
}
