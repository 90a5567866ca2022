/** @file Guesses the change that makes a broken yaml parse, and tries each guess before it is proposed. */
import type { Edit } from './edit.ts'
import { parseYaml, YamlRefusal } from './yaml-text.ts'

export interface SyntaxFix {
  /** What was wrong, if this mends it. */
  readonly message: string
  readonly edit: Edit
  /** Where to put the caret. */
  readonly at: number
}

/**
 * Tries changes, on the lines around the error first, until the whole text parses. Where a second error stands further
 * down, a change here that gets past this one will do.
 */
export function likelyFix(text: string, position: number, errors: number): SyntaxFix | undefined {
  const lines = linesOf(text)
  const index = lines.findLastIndex(({ start }) => start <= position)
  const near = contentNear(lines, index)
  const made = (changes: readonly LineChange[], where: readonly number[]) =>
    changes.flatMap((make) => where.flatMap((i) => make(lines[i]!, lines[i + 1])))
  const here = [...untabbed(text), ...ungrouped(lines), ...made([...CLEAR_CHANGES, ...LIKELY_CHANGES], near)]
  const all = [
    ...here,
    ...dedented(lines, index),
    ...made(CLEAR_CHANGES, [...lines.keys()].slice(0, index + 1)), // an open quote is noticed at the end of the file
    ...made([removeLine], near),
  ]
  const afterwards = text.length - (lines[index + 1]?.start ?? text.length)
  const most = MOST_PARSED / (1 + text.length + errors * ERROR_COST)
  // `here` comes first in `all`: what is left of it after such a change is known when the whole did not parse.
  let better: SyntaxFix | undefined
  for (const [i, fix] of all.slice(0, most).entries()) {
    const left = unparsed(text, fix.edit)
    if (left === 0) return fix
    if (i < here.length && left < afterwards) better ??= fix
  }
  return better
}

/** Characters that guesses may cost, about a third of a second. Of a long file only the likeliest are tried, or none. */
const MOST_PARSED = 500_000
/** An error that the parser reports costs as much as so many characters. */
const ERROR_COST = 300
/** Nobody types a longer line, and patterns that look for its end from every place in it would take minutes. */
const LONG_LINE = 1000

interface Line {
  readonly start: number
  readonly text: string
}

type LineChange = (line: Line, next: Line | undefined) => readonly SyntaxFix[]

/** The line of the error and the nearest ones with content, two on each side. */
function contentNear(lines: readonly Line[], index: number): number[] {
  const content = [...lines.keys()].filter((i) => /^\s*[^\s#]/.test(lines[i]!.text))
  const before = content.filter((i) => i <= index).slice(-2)
  const after = content.filter((i) => i > index).slice(0, 2)
  return [...before.reverse(), ...after]
}

/** Tabs stand on many lines at once, and all must go. */
function untabbed(text: string): SyntaxFix[] {
  const first = /^[ ]*\t/m.exec(text)
  if (!first) return []
  const from = first.index
  const last = [...text.matchAll(/^[ \t]*\t/gm)].at(-1)!
  const to = last.index + last[0].length
  const mended = text.slice(from, to).replace(/^[ \t]+/gm, (indent) => indent.replaceAll('\t', '  '))
  const at = first.index + first[0].length - 1
  return [{ message: 'tabs cannot indent, use spaces', edit: { from, to, text: mended }, at }]
}

/** A file whose first line is indented has lost the line above it. */
function ungrouped(lines: readonly Line[]): SyntaxFix[] {
  const first = lines.find(({ text }) => /^\s*[^\s#]/.test(text))
  if (!first || !/^ +\w/.test(first.text)) return []
  const edit = { from: first.start, to: first.start, text: 'runner:\n' }
  return [{ message: 'the line `runner:` is missing above these keys', edit, at: first.start + indentOf(first) }]
}

const CLEAR_CHANGES: readonly LineChange[] = [
  change('a space is missing after the colon', (text) => text.replace(/^(\s*[\w.]+):(?=\S)/, '$1: ')),
  change('expected a colon between key and value', (text) => text.replace(/^(\s*[\w.]+)\s*(=|\s)\s*(?=\S)/, '$1: ')),
  change('the closing quote is missing', (text) => text.replace(/(:\s*)(["'])([^"'#]*?)\s*$/, '$1$2$3$2')),
  change('the closing ] is missing', (text) => text.replace(/(\[[^\]#]*?),?(\s*(#.*)?)$/, '$1]$2')),
  change('the closing } is missing', (text) => text.replace(/(\{[^}#]*?),?(\s*(#.*)?)$/, '$1}$2')),
]

const LIKELY_CHANGES: readonly LineChange[] = [
  change('the colon after the key is missing', (text) => text.replace(/^(\s*[\w.]+)\s*$/, '$1:')),
  change('the opening quote is missing', (text) => text.replace(/(:\s*)([^"'\s][^"'#]*?)(["'])\s*$/, '$1$3$2$3')),
  ...[2, 4, 0, 6, 8].map((indent) =>
    change('the line is not indented like its neighbours', (text) =>
      /^\s*[\w.-]+\s*:/.test(text) ? ' '.repeat(indent) + text.trimStart() : text,
    ),
  ),
  (line, next) => (next && indentOf(next) > indentOf(line) ? withoutValue(line, next) : []),
  change('the value needs quotes', (text) => text.replace(/^(\s*[\w.]+:\s+)([^"'\s].*?)\s*$/, quoted)),
  change('the quotes in the value do not fit', (text) => text.replace(/^(\s*[\w.]+:\s+)['"](.*?)['"]?\s*$/, quoted)),
]

function withoutValue(line: Line, next: Line): readonly SyntaxFix[] {
  return change('a group has no value of its own', (text) => text.replace(/^(\s*[\w.]+:)\s+[^\s#].*$/, '$1'))(
    line,
    next,
  )
}

function quoted(_all: string, key: string, value: string): string {
  return `${key}${JSON.stringify(value)}`
}

function change(message: string, mend: (text: string) => string): LineChange {
  return ({ start, text }) => {
    if (text.length > LONG_LINE) return []
    const mended = mend(text)
    const edit = { from: start, to: start + text.length, text: mended }
    return mended === text ? [] : [{ message, edit, at: start + firstDifference(text, mended) }]
  }
}

/** The lines above that are indented further than this one, though nothing opens a group there. */
function dedented(lines: readonly Line[], index: number): SyntaxFix[] {
  const indent = indentOf(lines[index]!)
  const first = lines.findLastIndex((line, i) => i < index && indentOf(line) <= indent) + 1
  const block = lines.slice(first, index)
  if (block.length === 0 || first === 0) return []
  const excess = indentOf(block[0]!) - indent
  const mended = block.map((line) => line.text.slice(Math.min(excess, indentOf(line)))).join('\n')
  const [from, last] = [block[0]!.start, block.at(-1)!]
  const edit = { from, to: last.start + last.text.length, text: mended }
  return [{ message: 'these lines are indented too far', edit, at: from }]
}

function removeLine({ start, text }: Line, next: Line | undefined): readonly SyntaxFix[] {
  const edit = { from: start, to: next?.start ?? start + text.length, text: '' }
  return [{ message: 'this line fits nowhere', edit, at: start }]
}

/** How much of the text stands behind the first error once it is edited; 0 = it parses. */
function unparsed(text: string, { from, to, text: inserted }: Edit): number {
  const edited = text.slice(0, from) + inserted + text.slice(to)
  try {
    const { errors } = parseYaml(edited, { uniqueKeys: false, merge: true }).document
    return errors.length === 0 ? 0 : Math.max(1, edited.length - errors[0]!.pos[0])
  } catch (error) {
    if (error instanceof YamlRefusal) return edited.length
    throw error
  }
}

const indentOf = ({ text }: Line) => text.length - text.trimStart().length

function linesOf(text: string): Line[] {
  let start = 0
  return text.split('\n').map((line) => {
    const result = { start, text: line }
    start += line.length + 1
    return result
  })
}

function firstDifference(a: string, b: string): number {
  const at = [...a].findIndex((char, i) => char !== b[i])
  return at < 0 ? Math.max(0, a.length - 1) : at
}
