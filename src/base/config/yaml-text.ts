/** @file The one way yaml comes in: what is too large, too deep, or grows when its aliases are followed is refused before it is read. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type ParseOptions,
  Parser,
  YAMLParseError,
} from 'yaml'

/** Larger than any config by a factor of a hundred, and parsed in half a second: what a parser does is by tokens (words, brackets, commas), not by bytes. */
export const YAML_LIMITS = { bytes: 256 * 1024, levels: 64, tokens: 80_000, aliases: 200, nodes: 100_000 } as const

/** What a yaml must not be, and where that is seen. */
export class YamlRefusal extends Error {
  readonly at: number
  readonly to: number
  readonly text: string

  constructor(message: string, text: string, at = 0, to = at + 1) {
    super(message)
    ;[this.text, this.at, this.to] = [text, at, to]
  }
}

/** The text of a file; no more of it is read than may be parsed. */
export function readYamlFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)) // a pipe would wait for its writer
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new YamlRefusal('this is no plain file, expected yaml', '')
    const { bytes } = YAML_LIMITS
    const text = Buffer.alloc(Math.min(stats.size, bytes) + 1)
    const got = readSync(file, text, 0, text.length, 0)
    if (stats.size > bytes || got > bytes)
      throw new YamlRefusal(`this yaml has ${stats.size} bytes, and ${bytes} are the most`, '')
    return text.toString('utf8', 0, got).replace(/^\uFEFF/, '')
  } finally {
    closeSync(file)
  }
}

export interface ParsedYaml {
  readonly document: Document
  readonly lines: LineCounter
}

/** Syntax errors are in the document; throws YamlRefusal for what is not even tried. */
export function parseYaml(text: string, options: ParseOptions & { readonly merge?: boolean } = {}): ParsedYaml {
  if (text.length > YAML_LIMITS.bytes)
    throw new YamlRefusal(`this yaml has ${text.length} characters, and ${YAML_LIMITS.bytes} are the most`, '')
  checkTokens(text)
  const lines = new LineCounter()
  const document = withoutStacks(() => firstDocument(text, lines, options))
  if (document.errors.length === 0) checkNodes(document, text)
  return { document, lines }
}

/** As parseDocument does it, which reads a text to its end though it is wrong from the start. */
function firstDocument(text: string, lines: LineCounter, options: ParseOptions & { readonly merge?: boolean }) {
  const tokens = untilWrong(new Parser(lines.addNewLine).parse(text))
  const composer = new Composer({ lineCounter: lines, prettyErrors: false, logLevel: 'error', ...options })
  let document: Document | undefined
  for (const next of composer.compose(tokens, true, text.length)) {
    if (document) {
      const [from, to] = next.range
      document.errors.push(new YAMLParseError([from, to], 'MULTIPLE_DOCS', 'A config is one document'))
      break
    }
    document = next
  }
  return document!
}

/** Only the first error is told: what comes once a document has ended in one is not looked at. */
function* untilWrong(tokens: Iterable<CST.Token>): Iterable<CST.Token> {
  for (const token of tokens) {
    yield token
    if (!OF_A_STREAM.has(token.type)) return
  }
}

const OF_A_STREAM: ReadonlySet<string> = new Set([
  ...['document', 'directive', 'byte-order-mark', 'doc-end', 'comment', 'newline', 'space'],
])

/** A text that is no yaml can have an error a character, and most of what an error costs is its stack, which nobody reads. */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** A value by itself, such as that of -o. Throws what yaml throws. */
export function parseYamlValue(text: string): unknown {
  const { document } = parseYaml(text)
  if (document.errors[0]) throw document.errors[0]
  return document.toJS({ maxAliasCount: -1 }) // checkNodes has counted
}

/** How many tokens, and how deep: the parser and all that follows it call themselves once a level. */
function checkTokens(text: string): void {
  // No more levels than brackets, dashes, different indentations and colons of one line: of most configs that is all there is to ask.
  const openers = text.match(/[[{]|[-?]\s/g)?.length ?? 0
  const colons = text.split('\n').reduce((most, line) => Math.max(most, line.split(/:\s/).length), 0)
  if (openers + colons + new Set(text.match(/^ */gm)).size < YAML_LIMITS.levels && text.length < YAML_LIMITS.tokens)
    return
  const columns: number[] = [] // of the block collections that are open
  let [tokens, flow, at, lineStart, inLine] = [0, 0, 0, 0, 0]
  for (const token of new Lexer().lex(text)) {
    const kind = token.length === 1 ? token : ''
    if (kind === '[' || kind === '{') flow++
    else if ((kind === ']' || kind === '}') && flow > 0) flow--
    else if (flow === 0 && (kind === '-' || kind === '?' || kind === ':')) {
      const column = kind === ':' ? indentAt(text, lineStart) : at - lineStart
      while (columns.length > 0 && columns.at(-1)! > column) columns.pop()
      if (columns.at(-1) !== column) columns.push(column)
      else if (kind === ':') inLine++ // `a: b: c`: wrong, and yet a level each to the parser
    }
    if (flow + columns.length + inLine > YAML_LIMITS.levels)
      throw new YamlRefusal(`more than ${YAML_LIMITS.levels} levels, one inside the other`, text, at)
    if (CONTROL.has(token)) continue
    if (!BLANK.test(token) && ++tokens > YAML_LIMITS.tokens)
      throw new YamlRefusal(`more than ${YAML_LIMITS.tokens} words, brackets and commas`, text, at)
    const newline = token.lastIndexOf('\n')
    if (newline >= 0) [lineStart, inLine] = [at + newline + 1, 0]
    at += token.length
  }
}

/** Marks of the lexer, which stand for no text: byte order mark, document, end of a flow, scalar. */
const CONTROL: ReadonlySet<string> = new Set(['\u{FEFF}', '\x02', '\x18', '\x1f'])

const BLANK = /^[\s#]/

const indentAt = (text: string, lineStart: number) => /[ ]*/.exec(text.slice(lineStart, lineStart + 4096))![0].length

/** Names, and how many nodes there are when every alias is followed. */
function checkNodes(document: Document, text: string): void {
  const anchors = new Map<string, Node>()
  const sizes = new Map<unknown, number | 'open'>()
  let aliases = 0
  const sizeOf = (node: unknown): number => {
    if (isAlias(node)) {
      const [at, to] = [node.range?.[0] ?? 0, node.range?.[1]]
      if (++aliases > YAML_LIMITS.aliases)
        throw new YamlRefusal(`more than ${YAML_LIMITS.aliases} aliases such as *${node.source}`, text, at, to)
      const size = sizes.get(anchors.get(node.source))
      if (size === 'open') throw new YamlRefusal(`*${node.source} stands inside of what it names`, text, at, to)
      return within(size ?? 1, node)
    }
    const { anchor, tag = '', range } = (node ?? {}) as Partial<Node> & { readonly anchor?: string }
    if (anchor !== undefined) anchors.set(anchor, node as Node)
    if (NO_SETTING.test(tag))
      throw new YamlRefusal(`!!${tag.split(':').at(-1)} is no kind of setting`, text, range?.[0], range?.[1])
    if (anchor !== undefined) sizes.set(node, 'open')
    let size = 1
    if (isSeq(node)) for (const item of node.items) size = within(size + sizeOf(item), item)
    else if (isMap<Node | null, Node | null>(node))
      for (const { key, value } of node.items) {
        if (isScalar(key)) checkName(key, text)
        size = within(size + sizeOf(key) + sizeOf(value), value ?? key)
      }
    if (anchor !== undefined) sizes.set(node, size)
    return size
  }
  const within = (size: number, node: unknown) => {
    if (size <= YAML_LIMITS.nodes) return size
    const [at, , to] = (node as Node | null)?.range ?? [0, 1, 1]
    const what = `more than ${YAML_LIMITS.nodes} values when its aliases are followed`
    throw new YamlRefusal(what, text, at, Math.min(to, at + 1))
  }
  sizeOf(document.contents)
}

/** What yaml has and a config does not: values that are neither text, number, list nor group. */
const NO_SETTING = /^tag:yaml\.org,2002:(binary|omap|pairs|set|timestamp)$/

/** `__proto__` and the like mean something else than a key to JavaScript. */
function checkName(key: Node & { readonly value: unknown }, text: string): void {
  const name = key.value
  if (typeof name === 'string' && isReserved(name))
    throw new YamlRefusal(`${name} cannot be the name of a key`, text, key.range?.[0], key.range?.[1])
}

export const isReserved = (name: string) => name in {}
