/** @file The end of a process's log, and the lines of it that have a word. A million lines are read once and then only where the file has grown. */
import { closeSync, fstatSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { noteOf, openWithin, runOfLog } from '../../base/runs/index.ts'
import type { LogLines } from './api.ts'

/** From the end; the beginning of a longer log is left out, and that is said. */
const MOST_BYTES = 64 << 20
const MOST_LINES = 1000
const DEFAULT_LINES = 200

export interface LogQuery {
  readonly search?: string | undefined
  readonly lines?: number | undefined
}

export interface LogOf {
  /** The folder of the run whose record names the log. */
  readonly run: string
  /** Logs elsewhere are not shown. */
  readonly within?: string | undefined
}

/** The names that launchers give: `workerlog.0`, `trainer.0.log`. */
const LOG_NAME = /(\.log|log\.\d+)$/

/** A record may name any path: shown is what is called a log and has a note of its run beside it, by the same owner. No pipe is waited for. */
export function readLog(path: string, { run, within = dirname(path) }: LogOf, query: LogQuery): LogLines | undefined {
  try {
    const real = realpathSync(path)
    if (!LOG_NAME.test(basename(real)) || !isNoted(real, run)) return undefined
    return readLogFile(openWithin(realpathSync(within), real), path, query)
  } catch {
    return undefined // it was removed, or was never there
  }
}

function isNoted(log: string, run: string): boolean {
  const noted = runOfLog(log)
  return (
    noted !== undefined && realpathSync(noted) === realpathSync(run) && statSync(noteOf(log)).uid === statSync(log).uid
  )
}

export const logQuery = (query: URLSearchParams): LogQuery => ({
  search: query.get('q') ?? '',
  lines: Math.abs(Number(query.get('lines'))),
})

/** Of an open file, which is closed. */
export function readLogFile(fd: number, path: string, { search = '', lines = DEFAULT_LINES }: LogQuery): LogLines {
  try {
    const { size } = fstatSync(fd)
    const bytes = Math.min(size, MOST_BYTES)
    const buffer = Buffer.allocUnsafe(bytes)
    const read = readSync(fd, buffer, 0, bytes, size - bytes)
    const most = Math.min(lines || DEFAULT_LINES, MOST_LINES)
    return { path, isCut: size > bytes, ...linesOf(buffer.subarray(0, read), search, most) }
  } finally {
    closeSync(fd)
  }
}

/** Without making a text of every line: only of those that are shown. */
function linesOf(bytes: Buffer, search: string, most: number): Pick<LogLines, 'lines' | 'total' | 'matching'> {
  const text = bytes.toString('utf8')
  const wanted = search.toLowerCase()
  const searched = wanted === '' ? '' : text.toLowerCase()
  const newest: { number: number; text: string }[] = []
  let [total, matching, from] = [0, 0, 0]
  while (from < text.length) {
    const end = text.indexOf('\n', from)
    const to = end < 0 ? text.length : end
    total++
    if (wanted === '' || searched.slice(from, to).includes(wanted)) {
      matching++
      newest.push({ number: total, text: text.slice(from, Math.min(to, from + MOST_CHARACTERS)) })
      if (newest.length > 2 * most) newest.splice(0, newest.length - most)
    }
    from = to + 1
  }
  return { total, matching, lines: newest.slice(-most) }
}

const MOST_CHARACTERS = 4000
