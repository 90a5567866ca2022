/** @file Keys that lost their group: not indented under `runner:`, or without a `runner:` line at all. One problem instead of one a key. */
import { isMap, isScalar, type Node, type Pair } from 'yaml'
import type { ConfigProblem } from './problem.ts'
import { runnerSchema, userConfigSchema } from './schema.ts'
import { type ConfigSource, lineStart } from './source.ts'
import { keysOf } from './walk.ts'

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
