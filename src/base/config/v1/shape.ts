/** @file The form of a 1.x yaml as a whole: what is wrong with it (not a map, the 2.x form, a backend.yaml given as -m), and forms that mean the same (one name for a list, capitals in a class). */
import { isMap, isScalar, isSeq } from 'yaml'
import { defined } from '../../util/index.ts'
import { isRecord } from '../override.ts'
import type { ConfigProblem } from '../problem.ts'
import { type ConfigSource, findNode, valueSpan } from '../source.ts'

/** Whether a yaml is of the 1.x form: a list of runners, or the groups that only 1.x has. */
export function isRunConfig(source: ConfigSource): boolean {
  const root = source.document.contents
  if (!isMap(root)) return false
  return isSeq(findNode(source, ['runner'])) || root.has('phase')
}

export function shapeProblemV1(source: ConfigSource): ConfigProblem | undefined {
  const root = source.document.contents
  if (!isMap(root)) {
    return problem(
      '',
      'expected workspace, mode, runner, dataset and phase',
      'start from the example in docs/reference/config-v1.md',
    )
  }
  const keys = new Set(root.items.map(({ key }) => (isScalar(key) ? String(key.value) : '')))
  if (keys.has('backend') && !keys.has('runner')) {
    return problem(
      'backend',
      'this is a backend.yaml',
      `name the model's config.yaml: -m config.yaml -b ${source.file}`,
    )
  }
  const runner = findNode(source, ['runner'])
  if (!runner || isSeq(runner) || !isMap(runner) || isV1(keys)) return undefined
  return {
    code: 'CONFIG_VALUE',
    key: 'runner',
    message: 'expected a list of runners, the PaddleRec 1.x form; this is one group of keys, the 2.x form',
    place: { kind: 'file', span: valueSpan(source, ['runner']) },
    fix: { kind: 'advice', text: `use: oarfish train -m ${source.file}` },
  }
}

const isV1 = (keys: ReadonlySet<string>) => keys.has('mode') || keys.has('phase')

function problem(key: string, message: string, text: string): ConfigProblem {
  return {
    code: 'CONFIG_VALUE',
    key,
    message,
    place: { kind: 'file', span: { from: 0, to: 1 } },
    fix: { kind: 'advice', text },
  }
}

/** A copy in the form that the schema describes; what is neither is left for the schema to refuse. */
export function normalize(data: unknown): unknown {
  if (!isRecord(data)) return data
  const mode = listOf(data['mode'])
  return defined({ ...data, mode, runner: each(data['runner'], (runner) => normalizeRunner(runner, mode)) })
}

/** Runners that `mode` does not select and that do not say what they do: PaddleRec looks at the class only of those it runs. */
export const unclassed = (data: unknown): readonly string[] => {
  const items = isRecord(data) && Array.isArray(data['runner']) ? data['runner'].filter(isRecord) : []
  const mode = isRecord(data) ? listOf(data['mode']) : []
  return items.flatMap(({ name, class: kind }) => (isIdle(name, mode) && kind === undefined ? [String(name)] : []))
}

const isIdle = (name: unknown, mode: unknown) => Array.isArray(mode) && mode.length > 0 && !mode.includes(name)

function normalizeRunner(given: Record<string, unknown>, mode: unknown): unknown {
  const runner = given['class'] === undefined && isIdle(given['name'], mode) ? { ...given, class: 'train' } : given
  const lower = LOWER.flatMap((key) => (typeof runner[key] === 'string' ? [[key, runner[key].toLowerCase()]] : []))
  return defined({ ...runner, ...Object.fromEntries(lower), phases: listOf(runner['phases']) })
}

const LOWER = ['class', 'device', 'fleet_mode'] as const

const listOf = (value: unknown): unknown =>
  typeof value === 'string'
    ? value.split(/[\s,]+/).filter((item) => item !== '')
    : typeof value === 'number'
      ? [value]
      : value

const each = (list: unknown, change: (item: Record<string, unknown>) => unknown): unknown =>
  Array.isArray(list) ? list.map((item) => (isRecord(item) ? change(item) : item)) : list
