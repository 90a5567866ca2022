/** @file Python's assignments of literals, `NAME = value`, read without Python: nothing of such a file is ever executed. */
import { isUserError, UserError, type Where } from '../../base/util/index.ts'

/** The last assignment of a name holds, as in Python. Texts that stand alone are comments. What cannot be read is told line by line. */
export function parsePythonConf(
  file: string,
  text: string,
  refuse: (error: UserError, name?: string) => void,
): Assignments {
  const reader = new Reader(tokensOf(file, text))
  const found = new Map<string, { literal: Literal; where: Where }>()
  while (!reader.at('end')) {
    if (reader.at('line') || reader.at(';')) {
      reader.next()
      continue
    }
    let name: Token | undefined
    try {
      if (reader.at('string')) readTexts(reader)
      else {
        name = reader.expect('name', 'a name')
        reader.expect('=', `"=" after ${name.text}`)
        found.set(name.text, { literal: readLiteral(reader), where: name.where })
      }
      if (!reader.at('end') && !reader.at(';')) reader.expect('line', 'the end of the line')
    } catch (error) {
      if (!isUserError(error)) throw error
      refuse(error, name?.text)
      while (!reader.at('line') && !reader.at('end')) reader.next()
    }
  }
  return found
}

interface Token {
  readonly kind:
    | 'name'
    | 'number'
    | 'string'
    | 'line'
    | 'end'
    | '='
    | '['
    | ']'
    | '('
    | ')'
    | ','
    | '-'
    | ';'
    | 'computed'
    | 'other'
  readonly text: string
  readonly where: Where
}

class Reader {
  readonly #tokens: readonly Token[]
  #next = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  at(kind: Token['kind']): boolean {
    return this.#tokens[this.#next]!.kind === kind
  }

  next(): Token {
    return this.#tokens[this.#next++]!
  }

  expect(kind: Token['kind'], what: string): Token {
    const token = this.#tokens[this.#next]!
    if (token.kind !== kind) throw notLiteral(token, what)
    this.#next++
    return token
  }

  refuse(what: string): never {
    throw notLiteral(this.#tokens[this.#next]!, what)
  }
}

const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ['True', true],
  ['False', false],
  ['None', null],
])

function readLiteral(reader: Reader): Literal {
  if (reader.at('string')) return readTexts(reader)
  if (reader.at('number') || reader.at('-')) return readNumber(reader)
  if (reader.at('[')) return readItems(reader, ']')
  if (reader.at('(')) return readItems(reader, ')')
  if (!reader.at('name') && !reader.at('computed')) reader.refuse('a value')
  const { text, where } = reader.next()
  const value = WORDS.get(text)
  if (value === undefined) throw computed(text, where)
  return { value, where }
}

/** Texts side by side are one, as in Python. */
function readTexts(reader: Reader): Literal {
  const { where, text } = reader.next()
  let value = text
  while (reader.at('string')) value += reader.next().text
  return { value, where }
}

function readNumber(reader: Reader): Literal {
  const minus = reader.at('-') ? reader.next() : undefined
  const { text, where } = reader.expect('number', 'a number')
  const value = Number(text.replaceAll('_', ''))
  return { value: minus ? -value : value, where: minus?.where ?? where }
}

function readItems(reader: Reader, close: ']' | ')'): Literal {
  const { where } = reader.next()
  const items: Literal[] = []
  let commas = 0
  while (!reader.at(close)) {
    items.push(readLiteral(reader))
    if (reader.at(close)) break
    reader.expect(',', `"," or "${close}"`)
    commas++
  }
  reader.next()
  // Parentheses around one value are only parentheses.
  return close === ')' && items.length === 1 && commas === 0 ? items[0]! : { value: items, where }
}

const SIGNS = '=[](),-;'

/** Tokens with their places; inside brackets the ends of lines mean nothing. */
function tokensOf(file: string, text: string): readonly Token[] {
  const tokens: Token[] = []
  const pattern =
    /(?<space>[ \t\f]+|\\\r?\n|#[^\n]*)|(?<line>\r?\n)|(?<quote>[rRuUbBfF]{0,2}("""|'''|"|'))|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<number>0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?)|(?<sign>[\s\S])/uy
  let [line, start, depth] = [1, 0, 0]
  const where = (at: number): Where => ({ file, line, column: at - start + 1 })
  const passed = (from: number, to: number) => {
    for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) {
      line++
      start = at + 1
    }
  }
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length; ) {
    pattern.lastIndex = at
    const { groups = {}, 0: found } = pattern.exec(text)!
    const here = where(at)
    let end = at + found.length
    const { quote, sign } = groups
    if (groups['line'] !== undefined && depth === 0)
      tokens.push({ kind: 'line', text: 'the end of the line', where: here })
    if (quote !== undefined) {
      const { value, after } = readString(text, at, quote, here)
      const isComputed = /^[a-z]*f/i.test(quote)
      const written = `${quote}...${quote.replace(/^\w+/, '')}`
      tokens.push({ kind: isComputed ? 'computed' : 'string', text: isComputed ? written : value, where: here })
      end = after
    }
    for (const kind of ['name', 'number'] as const)
      if (groups[kind] !== undefined) tokens.push({ kind, text: found, where: here })
    if (sign !== undefined) {
      if ('[('.includes(sign)) depth++
      if ('])'.includes(sign)) depth--
      tokens.push({ kind: SIGNS.includes(sign) ? (sign as Token['kind']) : 'other', text: sign, where: here })
    }
    passed(at, end)
    at = end
  }
  return [...tokens, { kind: 'end', text: 'the end of the file', where: where(text.length) }]
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' }

function readString(text: string, at: number, opening: string, where: Where): { value: string; after: number } {
  const quote = opening.replace(/^\w+/, '')
  const prefix = opening.slice(0, -quote.length).toLowerCase()
  let value = ''
  for (let i = at + opening.length; i < text.length; i++) {
    if (text.startsWith(quote, i)) return { value, after: i + quote.length }
    const character = text[i]!
    if (character === '\n' && quote.length === 1) break
    if (character === '\\' && !prefix.includes('r')) {
      const escaped = text[++i] ?? ''
      value += ESCAPES[escaped] ?? (/["'\\]/.test(escaped) ? escaped : `\\${escaped}`)
    } else value += character
  }
  throw new UserError(`The text that begins here has no closing ${quote}.`, { code: 'SSH_CONF', where })
}

const HINT = `Only literal values are read, nothing is executed: HOSTS = ["root@192.168.100.17"]`

const notLiteral = ({ text, where }: Token, expected: string) =>
  new UserError(`expected ${expected}, found ${/^the end/.test(text) ? text : JSON.stringify(text)}.`, {
    code: 'SSH_CONF',
    where,
    hint: HINT,
  })

const computed = (text: string, where: Where) =>
  new UserError(`${text} would have to be computed; write the value itself.`, { code: 'SSH_CONF', where, hint: HINT })

/** A value as somebody wrote it, with its place. */
export interface Literal {
  readonly value: string | number | boolean | null | readonly Literal[]
  readonly where: Where
}

/** Values by name, and where each name stands. */
export type Assignments = ReadonlyMap<string, { readonly literal: Literal; readonly where: Where }>

export const isList = ({ value }: Literal): boolean => Array.isArray(value)

/** How a value is named in an error. */
export function literalText({ value }: Literal): string {
  return typeof value === 'object' && value !== null ? 'a list' : JSON.stringify(value)
}
