/** @file What a person reads about a pipe_command that failed: the command, its status, the file and the last lines of stderr. */
import { UserError } from '../../base/util/index.ts'

export interface PipeEnd {
  readonly command: string
  readonly dir: string
  readonly file: string
  readonly code: number | null
  readonly signal: string | null
  readonly error?: Error | undefined
  readonly stderr: string
}

const LINES_SHOWN = 12
/** What shells exit with when there is no such command, or it is no program. */
const REASONS: Readonly<Record<number, string>> = {
  126: 'the command may not be run (exit status 126)',
  127: 'the command was not found (exit status 127)',
}

export function pipeFailed({ code, signal, error, ...end }: PipeEnd): UserError {
  const status = error
    ? `it could not be started: ${error.message}`
    : signal
      ? `it was ended by ${signal}`
      : (REASONS[code ?? -1] ?? `it ended with exit status ${code}`)
  return pipeError(`runner.pipe_command failed: ${status}.`, end)
}

export function pipePrintedNothing(end: Omit<PipeEnd, 'code' | 'signal' | 'error'>): UserError {
  return pipeError('runner.pipe_command printed nothing on stdout.', end)
}

/** A line of its output that is no sample; `said` is the error about the line. */
export function pipeBadLine(said: UserError, end: Omit<PipeEnd, 'code' | 'signal' | 'error'>): UserError {
  const line = `${said.message} Lines are counted in what runner.pipe_command printed for this file.`
  return new UserError(line, {
    code: said.code,
    where: said.where,
    hint: [details(end), said.hint].filter(Boolean).join('\n'),
    cause: said,
  })
}

/** On resume the pipe printed other samples than those that were trained. */
export function pipeChanged(file: string, samples: number): UserError {
  const message = `The first ${samples} samples of this file are others than those trained before: the reader is not deterministic, so the run cannot go on from inside the epoch.`
  return new UserError(message, {
    code: 'DATA_PIPE_CHANGED',
    where: { file },
    hint: 'Give the reader a fixed seed, or resume from a whole epoch with runner.last_epoch.',
  })
}

function pipeError(message: string, end: Omit<PipeEnd, 'code' | 'signal' | 'error'>): UserError {
  return new UserError(message, { code: 'DATA_PIPE', where: { file: end.file }, hint: details(end) })
}

function details({ command, dir, stderr, file }: Omit<PipeEnd, 'code' | 'signal' | 'error'>): string {
  const lines = stderr.trimEnd().split('\n').slice(-LINES_SHOWN)
  const said = stderr.trim() === '' ? 'It wrote nothing to stderr.' : `Its last lines on stderr:\n${lines.join('\n')}`
  return `Try it by hand: cd ${dir} && ${command} < ${file}\n${said}`
}
