/** @file One problem of a config, all of them as one error, and how they are printed. Every message's form lives here. */
import { UserError } from '../util/index.ts'
import { type Fix, formatFix, gutter } from './fix.ts'
import { type ConfigSource, lineStart, type Span } from './source.ts'

/** Each has a section in docs/reference/errors.md. */
export const CONFIG_CODES = [
  'CONFIG_NOT_FOUND',
  'CONFIG_SYNTAX',
  'CONFIG_LIMIT',
  'CONFIG_UNKNOWN_KEY',
  'CONFIG_MISSING_KEY',
  'CONFIG_VALUE',
  'CONFIG_CONFLICT',
  'CONFIG_OVERRIDE',
  'CONFIG_PATH',
  'CONFIG_NOT_SUPPORTED',
  'CONFIG_NOT_IN_BUILD',
  'CONFIG_BACKEND',
  'CONFIG_INVALID',
] as const
export type ConfigCode = (typeof CONFIG_CODES)[number]

/** So many are told at once; a file with more is another kind of file. */
export const MOST_PROBLEMS = 100

export interface ConfigProblem {
  readonly code: ConfigCode
  /** `runner.sync_mode`; empty when the whole file is meant. */
  readonly key: string
  readonly message: string
  readonly guess?: string | undefined
  /** In the yaml, or the -o argument that brought it. */
  readonly place:
    | { readonly kind: 'file'; readonly span: Span }
    | { readonly kind: 'override'; readonly argument: string }
    | { readonly kind: 'none' }
  readonly fix?: Fix | undefined
}

/** All problems of a config at once. Its message is the whole text to print. */
export class ConfigError extends UserError {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[], source: Pick<ConfigSource, 'file' | 'text'>) {
    super(formatConfigErrors(problems, source), {
      code: problems.length === 1 ? problems[0]!.code : 'CONFIG_INVALID',
    })
    this.problems = problems
  }
}

/** Every problem with its line, a caret and its fix, then the count. */
export function formatConfigErrors(
  problems: readonly ConfigProblem[],
  source: Pick<ConfigSource, 'file' | 'text'>,
): string {
  const blocks = [...problems]
    .sort((a, b) => offsetOf(a) - offsetOf(b))
    .slice(0, MOST_PROBLEMS)
    .map((problem) => formatProblem(problem, source))
  return [...blocks, `${countText(problems.length)} in ${source.file}`].join('\n\n')
}

function countText(problems: number): string {
  if (problems >= MOST_PROBLEMS) return `${MOST_PROBLEMS} errors or more`
  return problems === 1 ? '1 error' : `${problems} errors`
}

const offsetOf = ({ place }: ConfigProblem) => (place.kind === 'file' ? place.span.from : Number.POSITIVE_INFINITY)

function formatProblem(problem: ConfigProblem, { file, text }: Pick<ConfigSource, 'file' | 'text'>): string {
  const { place, key, message, guess, fix } = problem
  const what = `${message}${guess === undefined ? '' : ` - did you mean "${guess}"?`}`
  const fixes = fix ? formatFix(fix, text) : []
  if (place.kind === 'override') return [`-o ${place.argument}: ${what}`, ...fixes].join('\n')
  const head = key === '' ? what : `${key}: ${what}`
  if (place.kind === 'none') return [`${file}: ${head}`, ...fixes].join('\n')
  const { line, column, excerpt } = show(text, place.span)
  return [`${file}:${line}:${column} ${head}`, ...excerpt, ...fixes].join('\n')
}

// A list of 30 names would push the caret out of sight.
const SHOWN_COLUMNS = 110

/** The first line of a span with a caret line under it. */
function show(text: string, { from, to }: Span) {
  const start = lineStart(text, from)
  const end = text.indexOf('\n', from)
  const source = text.slice(start, end < 0 ? text.length : end).replace(/\r$/, '')
  const line = text.slice(0, start).split('\n').length
  const offset = from - start
  const skip = offset > SHOWN_COLUMNS - 20 ? offset - 40 : 0
  const shown = source.slice(skip, skip + SHOWN_COLUMNS)
  const width = Math.max(1, Math.min(to - from, source.length - offset, skip + SHOWN_COLUMNS - offset))
  const blank = shown.slice(0, offset - skip).replace(/[^\t]/g, ' ')
  const lead = skip > 0 ? '…' : ''
  const excerpt = [
    gutter(line, `${lead}${shown}${skip + SHOWN_COLUMNS < source.length ? '…' : ''}`),
    gutter('', `${lead && ' '}${blank}${'^'.repeat(width)}`),
  ]
  return { line, column: offset + 1, excerpt }
}
