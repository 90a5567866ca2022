/** @file Changes to a yaml text that mend a problem: pure functions from a path to text edits. */
import { isCollection, isMap, type Node, stringify, type YAMLMap } from 'yaml'
import { isRecord } from './override.ts'
import { type ConfigSource, type FoundPair, findNode, findPair, lineStart, type Span } from './source.ts'
import type { Path } from './walk.ts'

/** Replace text[from, to) by `text`. Edits of one fix do not overlap. */
export interface Edit extends Span {
  readonly text: string
}

/** A value as one line of yaml, with Python's True and False as PaddleRec's files have them. */
export function yamlValue(value: unknown, quote = false): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return quote ? JSON.stringify(value) : stringify(value, { lineWidth: 0 }).trimEnd()
  if (Array.isArray(value)) return `[${value.map((item) => yamlValue(item, true)).join(', ')}]`
  if (!isRecord(value)) return String(value)
  const items = Object.entries(value).map(([key, item]) => `${key}: ${yamlValue(item, true)}`)
  return items.length === 0 ? '{}' : `{ ${items.join(', ')} }`
}

export function replaceValue(source: ConfigSource, path: Path, value: unknown): readonly Edit[] {
  const node = findNode(source, path)
  const found = findPair(source, path)
  const quoted = node?.range !== undefined && /^["']/.test(source.text.slice(node.range![0], node.range![0] + 1))
  const text = yamlValue(value, quoted)
  if (node?.range && !isBlock(node) && node.range[1] > node.range[0])
    return [{ from: node.range[0], to: node.range[1], text }]
  if (!found) return []
  const colon = source.text.indexOf(':', found.pair.key.range![1]) + 1
  const to = node?.range && node.range[1] > node.range[0] ? endOf(source, node) : colon
  return [{ from: colon, to, text: ` ${text}` }]
}

export function renameKey(source: ConfigSource, path: Path, name: string): readonly Edit[] {
  const range = findPair(source, path)?.pair.key.range
  return range ? [{ from: range[0], to: range[1], text: name }] : []
}

/** Takes out a key with its value: whole lines in block style, one entry of a flow map. */
export function removeKey(source: ConfigSource, path: Path): readonly Edit[] {
  const found = findPair(source, path)
  if (!found) return []
  if (found.map.flow) return [flowEntry(source, found)]
  const next = found.map.items[found.map.items.indexOf(found.pair) + 1]
  // The first key of an item of a list: the dash stays, for the next key.
  if (next && typeof path.at(-2) === 'number' && found.map.items[0] === found.pair)
    return [{ from: found.pair.key.range![0], to: next.key.range![0], text: '' }]
  const { from, to } = blockLines(source, found)
  return [{ from, to, text: '' }]
}

/** Adds `key: value` as the first entry of the map at `parent`, which is made if it is missing; a new group goes to the end. */
export function insertKey(source: ConfigSource, parent: Path, key: string, value: unknown): readonly Edit[] {
  if (typeof parent.at(-1) === 'number') return insertIntoItem(source, parent, key, value)
  if (parent.length > 0 && !findPair(source, parent)) {
    return insertKey(source, parent.slice(0, -1), String(parent.at(-1)), { [key]: value })
  }
  const { text } = source
  const node = parent.length === 0 ? source.document.contents : findNode(source, parent)
  const first = isMap<Node>(node) ? node.items[0]?.key.range?.[0] : undefined
  if (first !== undefined && (node as YAMLMap).flow) {
    return [{ from: first, to: first, text: `${key}: ${yamlValue(value, true)}, ` }]
  }
  if (first !== undefined && parent.length > 0) {
    const start = lineStart(text, first)
    return [{ from: start, to: start, text: entry(text.slice(start, first), key, value) }]
  }
  const found = findPair(source, parent)
  const at = found ? lineEnd(text, found.pair.key.range![1]) : text.length
  const indent = found ? columnOf(text, found.pair.key.range![0]) + 2 : 0
  const gap = at === 0 || text[at - 1] === '\n' ? '' : '\n'
  return [{ from: at, to: at, text: gap + entry(' '.repeat(indent), key, value) }]
}

/** Adds `key: value` to an item of a list, behind the key that shares a line with the dash. */
function insertIntoItem(source: ConfigSource, item: Path, key: string, value: unknown): readonly Edit[] {
  const node = findNode(source, item)
  const first = isMap<Node, Node | null>(node) ? node.items[0] : undefined
  if (!first) return []
  const [start] = first.key.range!
  if ((node as YAMLMap).flow) return [{ from: start, to: start, text: `${key}: ${yamlValue(value, true)}, ` }]
  const { to } = blockLines(source, { pair: first, map: node as FoundPair['map'] })
  const gap = source.text[to - 1] === '\n' ? '' : '\n'
  return [{ from: to, to, text: gap + entry(' '.repeat(columnOf(source.text, start)), key, value) }]
}

/** `key: value` as lines of their own; a group gets one line a key. */
function entry(indent: string, key: string, value: unknown): string {
  const items = isRecord(value) ? Object.entries(value) : []
  if (items.length === 0) return `${indent}${key}: ${yamlValue(value, true)}\n`
  return `${indent}${key}:\n${items.map(([name, item]) => entry(`${indent}  `, name, item)).join('')}`
}

/** Takes a key out of one map and puts it into another. */
export function moveKey(source: ConfigSource, path: Path, parent: Path, key: string): readonly Edit[] {
  const value = findNode(source, path)?.toJS(source.document)
  return [...removeKey(source, path), ...insertKey(source, parent, key, value)]
}

const isBlock = (node: Node) => isCollection(node) && !node.flow
const columnOf = (text: string, at: number) => at - lineStart(text, at)

/** Past the line break after `at`, or the end of the text. */
function lineEnd(text: string, at: number): number {
  const newline = text.indexOf('\n', at)
  return newline < 0 ? text.length : newline + 1
}

/** Where a node's text ends, without the white space a block collection takes along. */
function endOf({ text }: ConfigSource, node: Node): number {
  return node.range![0] + text.slice(node.range![0], node.range![1]).trimEnd().length
}

function blockLines(source: ConfigSource, { pair }: FoundPair): Span {
  const last =
    pair.value?.range && pair.value.range[1] > pair.value.range[0] ? endOf(source, pair.value) : pair.key.range![1]
  return { from: lineStart(source.text, pair.key.range![0]), to: lineEnd(source.text, last) }
}

function flowEntry(source: ConfigSource, { pair, map }: FoundPair): Edit {
  const index = map.items.indexOf(pair)
  const [next, previous] = [map.items[index + 1], map.items[index - 1]]
  const end = pair.value ? endOf(source, pair.value) : pair.key.range![1]
  if (next) return { from: pair.key.range![0], to: next.key.range![0], text: '' }
  return { from: previous?.value ? endOf(source, previous.value) : pair.key.range![0], to: end, text: '' }
}
