/** @file Changes to a yaml text that mend a problem: pure functions from a path to text edits. */
import { isCollection, isMap, type Node, stringify } from 'yaml'
import { type ConfigSource, type Found, findNode, findPair, type Span } from './source.ts'
import type { Path } from './walk.ts'

/** Replace text[from, to) by `text`. Edits of one fix do not overlap. */
export interface Edit extends Span {
  readonly text: string
}

/** A value as one line of yaml, with Python's True and False as PaddleRec's files have them. */
export function yamlValue(value: unknown, quote = false): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') {
    return quote ? JSON.stringify(value) : stringify(value, { lineWidth: 0 }).trimEnd()
  }
  if (Array.isArray(value)) return `[${value.map((item) => yamlValue(item, typeof item === 'string')).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([key, item]) => `${key}: ${yamlValue(item, typeof item === 'string')}`)
      .join(', ')} }`
  }
  return String(value)
}

export function replaceValue(source: ConfigSource, path: Path, value: unknown): readonly Edit[] {
  const node = findNode(source, path)
  const found = findPair(source, path)
  const quoted = node?.range !== undefined && /^["']/.test(source.text.slice(node.range![0], node.range![0] + 1))
  const text = yamlValue(value, quoted && typeof value === 'string')
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
  const { from, to } = blockLines(source, found)
  return [{ from, to, text: '' }]
}

/** Adds `key: value` as the first entry of the map at `parent`, which is made if it is missing. */
export function insertKey(source: ConfigSource, parent: Path, key: string, value: unknown): readonly Edit[] {
  const { text } = source
  const node = parent.length === 0 ? source.document.contents : findNode(source, parent)
  const entry = `${key}: ${yamlValue(value, typeof value === 'string')}`
  if (isMap<Node>(node) && node.items.length > 0) {
    const at = node.items[0]!.key.range![0]
    if (node.flow) return [{ from: at, to: at, text: `${entry}, ` }]
    const start = lineStart(text, at)
    return [{ from: start, to: start, text: `${text.slice(start, at)}${entry}\n` }]
  }
  const found = findPair(source, parent)
  if (found) {
    const end = lineEnd(text, found.pair.key.range![1])
    const indent = ' '.repeat(found.pair.key.range![0] - lineStart(text, found.pair.key.range![0]) + 2)
    return [{ from: end, to: end, text: `${end > 0 && text[end - 1] !== '\n' ? '\n' : ''}${indent}${entry}\n` }]
  }
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  const open = parent.map((step, depth) => `${'  '.repeat(depth)}${step}:\n`).join('')
  return [{ from: text.length, to: text.length, text: `${gap}${open}${'  '.repeat(parent.length)}${entry}\n` }]
}

/** Takes a key out of one map and puts it into another. */
export function moveKey(source: ConfigSource, path: Path, parent: Path, key: string): readonly Edit[] {
  const value = findNode(source, path)?.toJS(source.document)
  return [...removeKey(source, path), ...insertKey(source, parent, key, value)]
}

const isBlock = (node: Node) => isCollection(node) && !node.flow
const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1
const lineEnd = (text: string, at: number) =>
  (text.indexOf('\n', at) + 1 || text.length + 1) - (text.indexOf('\n', at) < 0 ? 1 : 0)

/** Where a node's text ends, without the white space a block collection takes along. */
function endOf({ text }: ConfigSource, node: Node): number {
  return node.range![0] + text.slice(node.range![0], node.range![1]).trimEnd().length
}

function blockLines(source: ConfigSource, { pair }: Found): Span {
  const last =
    pair.value?.range && pair.value.range[1] > pair.value.range[0] ? endOf(source, pair.value) : pair.key.range![1]
  return { from: lineStart(source.text, pair.key.range![0]), to: lineEnd(source.text, last) }
}

function flowEntry(source: ConfigSource, { pair, map }: Found): Edit {
  const index = map.items.indexOf(pair)
  const [next, previous] = [map.items[index + 1], map.items[index - 1]]
  const end = pair.value ? endOf(source, pair.value) : pair.key.range![1]
  if (next) return { from: pair.key.range![0], to: next.key.range![0], text: '' }
  return { from: previous?.value ? endOf(source, previous.value) : pair.key.range![0], to: end, text: '' }
}
