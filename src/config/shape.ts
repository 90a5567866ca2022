/** @file What is wrong with a yaml as a whole: not a map, a PaddleRec 1.x config; and where keys belong that stand in the wrong group. */
import { isMap, isScalar, isSeq } from 'yaml'
import { strayKeys } from './groups.ts'
import type { ConfigProblem } from './problem.ts'
import { runnerSchema, userConfigSchema } from './schema.ts'
import { type ConfigSource, findNode, valueSpan } from './source.ts'
import { keysOf, type Path } from './walk.ts'

export function shapeProblem(source: ConfigSource): ConfigProblem | undefined {
  const root = source.document.contents
  if (root !== null && !isMap(root)) {
    return {
      code: 'CONFIG_VALUE',
      key: '',
      message: 'expected the groups runner and hyper_parameters, each with its keys',
      place: { kind: 'file', span: { from: 0, to: 1 } },
      fix: { kind: 'advice', text: 'start from models/rank/dnn/config.yaml' },
    }
  }
  if (isMap(root) && root.items.length > 3 && !root.items.some(isKnown)) {
    return {
      code: 'CONFIG_MISSING_KEY',
      key: 'runner',
      message: 'missing; this yaml has none of the groups of a config, so it is probably another kind of file',
      place: { kind: 'none' },
      fix: { kind: 'advice', text: 'name a config.yaml such as models/rank/dnn/config.yaml' },
    }
  }
  if (!isSeq(findNode(source, ['runner']))) return strayKeys(source)
  return {
    code: 'CONFIG_VALUE',
    key: 'runner',
    message: 'a list of runners is the PaddleRec 1.x form, which has a command of its own',
    place: { kind: 'file', span: valueSpan(source, ['runner']) },
    fix: { kind: 'advice', text: `use: oarfish run -m ${source.file}` },
  }
}

const isKnown = ({ key }: { readonly key: unknown }) => isScalar(key) && elsewhere([String(key.value)]) !== undefined

/** Where a key belongs that stands in the wrong group or has the name it bears in other tools. */
export function elsewhere(path: Path): Path | undefined {
  const key = String(path.at(-1))
  if (path.length > 2 || (path.length === 2 && path[0] !== 'runner')) return undefined
  if (keysOf(runnerSchema).includes(key)) return ['runner', key]
  if (keysOf(userConfigSchema).includes(key)) return [key]
  return OTHER_NAMES[key]
}

const OTHER_NAMES: Readonly<Record<string, Path>> = {
  optimizer: ['hyper_parameters', 'optimizer'],
  learning_rate: ['hyper_parameters', 'optimizer', 'learning_rate'],
  lr: ['hyper_parameters', 'optimizer', 'learning_rate'],
  num_epochs: ['runner', 'epochs'],
  max_epochs: ['runner', 'epochs'],
  threads: ['runner', 'thread_num'],
  num_threads: ['runner', 'thread_num'],
  random_seed: ['runner', 'seed'],
  log_interval: ['runner', 'print_interval'],
  save_path: ['runner', 'model_save_path'],
  save_dir: ['runner', 'model_save_path'],
  eval_data_dir: ['runner', 'test_data_dir'],
}
