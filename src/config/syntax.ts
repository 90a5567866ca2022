/** @file Yaml that does not parse: one problem, with the change that makes it parse where a likely one does. */
import { parseDocument, visit } from 'yaml'
import type { Edit } from './edit.ts'
import type { ConfigProblem } from './problem.ts'
import type { ConfigSource } from './source.ts'

/** The first syntax error; further ones are mostly its echo. */
export function syntaxProblem(source: ConfigSource): ConfigProblem | undefined {
  const error = source.document.errors[0]
  if (!error) return aliasProblem(source)
  const fix = likelyFix(source.text, error.pos[0])
  const at = fix?.at ?? error.pos[0]
  return {
    code: 'CONFIG_SYNTAX',
    key: '',
    message: `this is not yaml: ${fix?.message ?? plain(error.message)}`,
    place: { kind: 'file', span: { from: at, to: at + 1 } },
    fix: fix
      ? { kind: 'edit', edits: [fix.edit] }
      : { kind: 'advice', text: 'write this part as `key: value` lines, indented by spaces' },
  }
}

/** `data_dir: *.txt` means an anchor named .txt to yaml. */
function aliasProblem({ document, text }: ConfigSource): ConfigProblem | undefined {
  let problem: ConfigProblem | undefined
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return undefined
      const [from, to] = [alias.range![0], alias.range![1]]
      problem = {
        code: 'CONFIG_SYNTAX',
        key: '',
        message: `this is not yaml: there is no anchor &${alias.source}; text that begins with * needs quotes`,
        place: { kind: 'file', span: { from, to } },
        fix: { kind: 'edit', edits: [{ from, to, text: JSON.stringify(text.slice(from, to)) }] },
      }
      return visit.BREAK
    },
  })
  return problem
}

interface Candidate {
  readonly message: string
  readonly edit: Edit
  readonly at: number
}

interface Line {
  readonly start: number
  readonly text: string
}

const plain = (message: string) => message.charAt(0).toLowerCase() + message.slice(1)

/** Tries changes on the lines around the error, the nearest first, until the whole text parses. */
function likelyFix(text: string, position: number): Candidate | undefined {
  const lines = linesOf(text)
  const index = lines.findLastIndex(({ start }) => start <= position)
  const near = [index, index - 1, index + 1, ...lines.keys()].filter((i) => i >= 0 && i < lines.length)
  const sameOnAll = wholeText(text)
  if (sameOnAll && parses(text, sameOnAll.edit)) return sameOnAll
  for (const make of [...LINE_CHANGES, removeLine]) {
    for (const i of make === removeLine ? near.slice(0, 3) : new Set(near)) {
      const candidate = make(lines[i]!, lines, i)
      if (candidate && parses(text, candidate.edit)) return candidate
    }
  }
  return undefined
}

/** Tabs stand on many lines at once, and all must go. */
function wholeText(text: string): Candidate | undefined {
  const first = /^[ ]*\t/m.exec(text)
  if (!first) return undefined
  const from = first.index
  const last = [...text.matchAll(/^[ \t]*\t/gm)].at(-1)!
  const to = last.index + last[0].length
  const mended = text.slice(from, to).replace(/^[ \t]+/gm, (indent) => indent.replaceAll('\t', '  '))
  return {
    message: 'tabs cannot indent, use spaces',
    edit: { from, to, text: mended },
    at: first.index + first[0].length - 1,
  }
}

type LineChange = (line: Line, lines: readonly Line[], index: number) => Candidate | undefined

const LINE_CHANGES: readonly LineChange[] = [
  change('a space is missing after the colon', (text) => text.replace(/^(\s*[\w.]+):(?=\S)/, '$1: ')),
  change('the colon after the key is missing', (text) => text.replace(/^(\s*[\w.]+)\s*$/, '$1:')),
  change('expected a colon between key and value', (text) => text.replace(/^(\s*[\w.]+)\s*(=|\s)\s*(?=\S)/, '$1: ')),
  change('the closing quote is missing', (text) => text.replace(/(:\s*)(["'])([^"'#]*?)\s*$/, '$1$2$3$2')),
  change('the opening quote is missing', (text) => text.replace(/(:\s*)([^"'\s][^"'#]*?)(["'])\s*$/, '$1$3$2$3')),
  change('the closing ] is missing', (text) => text.replace(/(\[[^\]#]*?),?(\s*(#.*)?)$/, '$1]$2')),
  change('the closing } is missing', (text) => text.replace(/(\{[^}#]*?),?(\s*(#.*)?)$/, '$1}$2')),
  (line, lines, i) => indentAs(line, lines[i - 1]),
  (line, lines, i) => indentAs(line, lines[i + 1]),
  change('the value needs quotes', (text) =>
    text.replace(/^(\s*[\w.]+:\s+)([^"'\s].*?)\s*$/, (_all, key, value) => `${key}${JSON.stringify(value)}`),
  ),
  change('the quotes inside the value do not fit', (text) =>
    text.replace(/^(\s*[\w.]+:\s+)['"](.*)['"]\s*$/, (_all, key, value) => `${key}${JSON.stringify(value)}`),
  ),
]

function change(message: string, mend: (text: string) => string): LineChange {
  return ({ start, text }) => {
    const mended = mend(text)
    return mended === text
      ? undefined
      : {
          message,
          edit: { from: start, to: start + text.length, text: mended },
          at: start + firstDifference(text, mended),
        }
  }
}

function indentAs(line: Line, other: Line | undefined): Candidate | undefined {
  const indent = other && /^ */.exec(other.text)![0]
  if (indent === undefined || other?.text.trim() === '' || line.text.trim() === '') return undefined
  const mend = change('the line is not indented like its neighbours', (text) => indent + text.trimStart())
  return mend(line, [], 0)
}

function removeLine({ start, text }: Line, lines: readonly Line[], index: number): Candidate | undefined {
  const end = lines[index + 1]?.start ?? start + text.length
  return text.trim() === ''
    ? undefined
    : { message: 'this line fits nowhere', edit: { from: start, to: end, text: '' }, at: start }
}

function parses(text: string, { from, to, text: inserted }: Edit): boolean {
  const document = parseDocument(text.slice(0, from) + inserted + text.slice(to), {
    uniqueKeys: false,
    prettyErrors: false,
    merge: true,
  })
  return document.errors.length === 0
}

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
