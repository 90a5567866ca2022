/** @file A fix as a person reads it and a program can apply it: whole lines, numbered as in the file. */
import type { Edit } from './edit.ts'
import { lineStart } from './source.ts'

export type Fix =
  | { readonly kind: 'edit'; readonly edits: readonly Edit[] }
  /** Write another -o argument, or none. */
  | { readonly kind: 'override'; readonly from: string; readonly to: string | undefined }
  /** Name another file. */
  | { readonly kind: 'path'; readonly to: string }
  /** Nothing a program could apply. */
  | { readonly kind: 'advice'; readonly text: string }

/** The lines that say what to do: `fix: replace line 3 with:` and the new lines with their numbers. */
export function formatFix(fix: Fix, text: string): string[] {
  if (fix.kind === 'advice') return [`  fix: ${fix.text}`]
  if (fix.kind === 'path') return [`  fix: write -m ${fix.to}`]
  if (fix.kind === 'override')
    return [fix.to === undefined ? `  fix: leave out -o ${fix.from}` : `  fix: write -o ${fix.to}`]
  return fix.edits.flatMap((edit) => formatEdit(edit, text))
}

/** `  42 | text`, the form of source and fix lines. */
export const gutter = (line: number | '', text: string) => `  ${String(line).padStart(3)} | ${text}`

function formatEdit({ from, to, text: inserted }: Edit, text: string): string[] {
  const start = lineStart(text, from)
  const first = text.slice(0, start).split('\n').length
  if (from === to && isWholeLines(inserted, text, from)) return formatInsert(inserted, text, from)
  const wholeLines = to > from && to > start && text[to - 1] === '\n' && (inserted === '' || inserted.endsWith('\n'))
  const newline = text.indexOf('\n', to)
  const end = wholeLines ? to - 1 : newline < 0 ? text.length : newline
  const last = first + text.slice(start, end).split('\n').length - 1
  const lines = first === last ? `line ${first}` : `lines ${first}-${last}`
  if (inserted === '' && from === start && (wholeLines || to === text.length)) return [`  fix: remove ${lines}`]
  const after = text.slice(start, from) + inserted.replace(wholeLines ? /\n$/ : '', '') + text.slice(to, end)
  return [`  fix: replace ${lines} with:`, ...numbered(after, first)]
}

const isWholeLines = (inserted: string, text: string, at: number) =>
  inserted.endsWith('\n') && (at === 0 || text[at - 1] === '\n' || (at === text.length && inserted.startsWith('\n')))

function formatInsert(inserted: string, text: string, at: number): string[] {
  const before = text.slice(0, at).split('\n').length - (at === 0 || text[at - 1] === '\n' ? 1 : 0)
  const body = inserted.replace(/^\n/, '').replace(/\n$/, '')
  return [
    before === 0 ? '  fix: insert at the top:' : `  fix: insert after line ${before}:`,
    ...numbered(body, before + 1),
  ]
}

const numbered = (text: string, first: number) =>
  text.split('\n').map((line, i) => gutter(first + i, shortened(line.replace(/\r$/, ''))))

/** Longer than a line that was typed: a hundred fixes of one that is all of a file would be a hundred files. */
const LONG_LINE = 2000
const shortened = (line: string) => (line.length > LONG_LINE ? `${line.slice(0, LONG_LINE)}…` : line)
