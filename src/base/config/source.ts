/** @file Where settings were written: the yaml text with positions, and the -o arguments laid over it. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
  type YAMLMap,
} from 'yaml'
import type { Override } from './override.ts'
import type { Path } from './walk.ts'
import { type ParsedYaml, parseYaml } from './yaml-text.ts'

export interface ConfigSource {
  /** The file as the user named it. */
  readonly file: string
  readonly text: string
  readonly document: Document
  readonly lines: LineCounter
  readonly overrides: readonly Override[]
}

/** Offsets into the text, `to` exclusive. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface FoundPair {
  readonly pair: Pair<Node, Node | null>
  readonly map: YAMLMap<Node, Node | null>
}

export function readSource(file: string, text: string, overrides: readonly Override[] = []): ConfigSource {
  // Repeated keys are reported by duplicateKeys, where PaddleRec silently takes the last.
  if (last?.text !== text) last = { text, ...parseYaml(text, { uniqueKeys: false, merge: true }) }
  const { document, lines } = last
  return { file, text, document, lines, overrides }
}

/** Which form a config has is asked before it is read: the same text is not parsed twice, and nobody changes a document. */
let last: (ParsedYaml & { readonly text: string }) | undefined

/** What the yaml says. How far its aliases may go was looked at before; the parser's own limit is lower, and an error without a place. */
export const valuesOf = ({ document }: Pick<ConfigSource, 'document'>) => document.toJS({ maxAliasCount: -1 })

/** The key and value written at a path; of a repeated key the last, which is the one that counts. */
export function findPair({ document }: ConfigSource, path: Path): FoundPair | undefined {
  let node: unknown = document.contents
  let found: FoundPair | undefined
  for (const step of path) {
    node = isAlias(node) ? node.resolve(document) : node
    found = undefined
    if (isSeq(node) && typeof step === 'number') {
      node = node.items[step]
      continue
    }
    if (!isMap<Node, Node | null>(node)) return undefined
    const pair = lastPair(node, step)
    if (!pair) return undefined
    found = { pair, map: node }
    node = pair.value
  }
  return found
}

/** Pairs of a map by name, once it was asked: a hundred problems among thousands of keys are each looked up a few times. */
const PAIRS = new WeakMap<YAMLMap, ReadonlyMap<string, Pair<Node, Node | null>>>()

function lastPair(map: YAMLMap<Node, Node | null>, step: string | number): Pair<Node, Node | null> | undefined {
  const pairs = PAIRS.get(map) ?? new Map(map.items.map((pair) => [keyName(pair.key), pair]))
  PAIRS.set(map, pairs)
  return pairs.get(String(step))
}

/** The node at a path, also inside lists. */
export function findNode({ document }: ConfigSource, path: Path): Node | undefined {
  let node: unknown = document.contents
  for (const step of path) {
    node = isAlias(node) ? node.resolve(document) : node
    if (isSeq(node)) node = node.items[step as number]
    else if (isMap<Node, Node | null>(node)) {
      node = lastPair(node, step)?.value
    } else return undefined
  }
  return (node as Node | null | undefined) ?? undefined
}

/** What to underline for the value at a path: the value, else its key, else the nearest enclosing key. */
export function valueSpan(source: ConfigSource, path: Path): Span {
  const node = findNode(source, path)
  if (node?.range && node.range[1] > node.range[0]) {
    return { from: node.range[0], to: trimEnd(source.text, node.range[0], node.range[1]) }
  }
  return keySpan(source, path)
}

/** What to underline for the key at a path, or the nearest enclosing key. */
export function keySpan(source: ConfigSource, path: Path): Span {
  for (let length = path.length; length > 0; length--) {
    const above = path.slice(0, length)
    const item = typeof above.at(-1) === 'number' ? findNode(source, above) : undefined
    // An item of a list has no key: its first one stands for it.
    const range = isMap<Node>(item) ? item.items[0]?.key.range : findPair(source, above)?.pair.key.range
    if (range) return { from: range[0], to: range[1] }
  }
  return { from: 0, to: 0 }
}

/** The -o argument that a path's value came from, if any. */
export function overrideAt({ overrides }: ConfigSource, path: Path): Override | undefined {
  return overrides.findLast(
    (override) => override.path.length <= path.length && override.path.every((step, i) => step === String(path[i])),
  )
}

/** An -o argument that goes on below a path, as if the value there were a group. */
export function overrideBelow({ overrides }: ConfigSource, path: Path): Override | undefined {
  return overrides.findLast(
    (override) => override.path.length > path.length && path.every((step, i) => String(step) === override.path[i]),
  )
}

/** True when the path was written in the yaml or on the command line. */
export function isWritten(source: ConfigSource, path: Path): boolean {
  return overrideAt(source, path) !== undefined || findPair(source, path) !== undefined
}

/** Keys written twice in one map, with both lines. */
export function duplicateKeys({ document, file, lines }: ConfigSource): string[] {
  const notices: string[] = []
  const visit = (node: unknown, path: string) => {
    if (isSeq(node)) for (const item of node.items) visit(item, path)
    if (!isMap<Node, Node | null>(node)) return
    const seen = new Map<string, number>()
    for (const { key, value } of node.items) {
      const name = `${path}${keyName(key)}`
      const { line, col } = lines.linePos(key.range?.[0] ?? 0)
      const first = seen.get(name)
      if (first !== undefined)
        notices.push(`${file}:${line}:${col} ${name}: also set on line ${first}; the last one counts`)
      seen.set(name, line)
      visit(value, `${name}.`)
    }
  }
  visit(document.contents, '')
  return notices
}

/** A key as text; the merge key `<<` has a symbol for its value. */
const keyName = (key: unknown) => (isScalar(key) ? String(key.value) : '')

/** Where the line begins that holds this offset. */
export function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1
}

function trimEnd(text: string, from: number, to: number): number {
  return from + text.slice(from, to).trimEnd().length
}
