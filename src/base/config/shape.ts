/** @file What is wrong with a yaml as a whole: not a map, a PaddleRec 1.x config, keys that lost their group; and where keys belong that stand in the wrong one. */
import { isMap, isScalar, isSeq, type Node, type Pair } from 'yaml'
import { isRecord } from './override.ts'
import type { ConfigProblem } from './problem.ts'
import { runnerSchema, userConfigSchema } from './schema.ts'
import { type ConfigSource, findNode, lineStart, valueSpan } from './source.ts'
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
  if (isMap(root) && ['etype2files', 'graph_data_local_path'].every((key) => root.has(key))) {
    return {
      code: 'CONFIG_NOT_SUPPORTED',
      key: '',
      message: 'this is a config of PGLBox, which trains embeddings of graphs on GPUs; Oarfish does not walk graphs',
      place: { kind: 'none' },
      fix: { kind: 'advice', text: 'write walks to files as sentences and train models/recall/word2vec on them' },
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

/** Where a key belongs that stands in the wrong group or has the name it bears in other tools; `data` is what the config says. */
export function elsewhere(path: Path, data?: unknown): Path | undefined {
  const [first, ...rest] = (path[0] === 'runner' && path.length === 2 ? path.slice(1) : path).map(String)
  if (first === undefined || (rest.length > 0 && keysOf(userConfigSchema).includes(first))) return undefined
  const key = rest.at(-1) ?? first
  if (keysOf(runnerSchema).includes(key)) return ['runner', key]
  if (keysOf(userConfigSchema).includes(key)) return [key]
  const other = Object.hasOwn(OTHER_NAMES, first) ? OTHER_NAMES[first] : undefined
  const name = rest.length > 0 ? key : String(other?.at(-1) ?? key)
  return ownKey(data, name) ?? (other && [...other, ...rest])
}

/** Where this config has such a hyper-parameter: models name and group theirs as they like. */
function ownKey(data: unknown, key: string): Path | undefined {
  const own = isRecord(data) ? data['hyper_parameters'] : undefined
  if (!isRecord(own)) return undefined
  if (Object.hasOwn(own, key)) return ['hyper_parameters', key]
  const group = Object.keys(own).find((name) => isRecord(own[name]) && Object.hasOwn(own[name], key))
  return group === undefined ? undefined : ['hyper_parameters', group, key]
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

type Item = Pair<Node, Node | null>

/** The first run of top-level keys that belong into a group. */
export function strayKeys(source: ConfigSource): ConfigProblem | undefined {
  const root = source.document.contents
  if (
    !isMap<Node, Node | null>(root) ||
    root.flow ||
    root.items[0]?.key.range?.[0] !== lineStart(source.text, root.range![0])
  )
    return undefined
  const { items } = root
  const opened = items.findIndex((item, i) => GROUPS.has(nameOf(item)) && isEmpty(item) && isStray(items[i + 1]))
  if (opened >= 0) {
    const run = takeWhile(items.slice(opened + 1), isStray)
    return problem(source, run, `these ${run.length} lines are not indented under ${nameOf(items[opened]!)}`, '')
  }
  const first = items.findIndex(isRunnerKey)
  const run = takeWhile(items.slice(first), isRunnerKey)
  if (first < 0 || run.length < 2 || items.some((item) => nameOf(item) === 'runner')) return undefined
  return problem(source, run, 'the line `runner:` is missing above these keys', 'runner:\n')
}

const GROUPS: ReadonlySet<string> = new Set(['runner', 'hyper_parameters'])

const nameOf = ({ key }: Item) => (isScalar(key) ? String(key.value) : '')
const isEmpty = ({ value }: Item) => value === null || (isScalar(value) && value.value === null)
const isStray = (item: Item | undefined) => item !== undefined && !keysOf(userConfigSchema).includes(nameOf(item))
const isRunnerKey = (item: Item) => isStray(item) && keysOf(runnerSchema).includes(nameOf(item))

function takeWhile(items: readonly Item[], test: (item: Item) => boolean): readonly Item[] {
  const end = items.findIndex((item) => !test(item))
  return end < 0 ? items : items.slice(0, end)
}

function problem({ text }: ConfigSource, run: readonly Item[], message: string, opening: string): ConfigProblem {
  const [firstKey, last] = [run[0]!.key.range!, run.at(-1)!]
  const from = lineStart(text, firstKey[0])
  const end = last.value?.range?.[1] ?? last.key.range![1]
  const newline = text.indexOf('\n', from + text.slice(from, end).trimEnd().length)
  const to = newline < 0 ? text.length : newline
  const indented = text.slice(from, to).replaceAll(/^(?=.*\S)/gm, '  ')
  return {
    code: 'CONFIG_SYNTAX',
    key: '',
    message,
    place: { kind: 'file', span: { from: firstKey[0], to: firstKey[1] } },
    fix: { kind: 'edit', edits: [{ from, to, text: opening + indented }] },
  }
}
