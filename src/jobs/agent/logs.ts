/** @file The logs of a job as one stream: those of one process, or all of them one after the other; followed until the job is over. */
import { closeSync, fstatSync, readdirSync, readSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openWithin } from '../../base/runs/index.ts'

export interface LogSelection {
  readonly role?: string | undefined
  readonly rank?: number | undefined
}

export interface ReadLogsOptions {
  /** What a link leads to is read only there: the folder may be of a user whose rights are less than the reader's. @default the folder */
  readonly within?: string | undefined
  /** How many bytes of which logs were read before. @default none */
  readonly from?: LogSizes | undefined
}

export type LogSizes = Iterable<readonly [name: string, bytes: number]>

/** How long the logs of this folder are now. */
export const logSizes = (folder: string): LogSizes =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => [name, statSync(join(folder, name)).size])

const POLL_MS = 200

/** Lines as they come; `isOver` ends following once everything that was written has been given. */
export async function* readLogs(
  folder: string,
  selection: LogSelection,
  isOver: () => boolean,
  { within = folder, from = [] }: ReadLogsOptions = {},
): AsyncGenerator<string> {
  const positions = new Map(from)
  let shown = ''
  for (;;) {
    const over = isOver()
    for (const name of await logNames(folder, selection)) {
      const text = readFrom(within, join(folder, name), positions.get(name) ?? 0)
      if (text.length === 0) continue
      positions.set(name, (positions.get(name) ?? 0) + Buffer.byteLength(text))
      const heading = name === shown || isOne(selection) ? '' : `==> ${name.replace(/\.log$/, '')} <==\n`
      shown = name
      yield heading + text
    }
    if (over) return
    await new Promise((done) => setTimeout(done, POLL_MS))
  }
}

const isOne = ({ role, rank }: LogSelection) => role !== undefined && rank !== undefined

async function logNames(folder: string, { role, rank }: LogSelection): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  const wanted = (name: string) =>
    (role === undefined || name.startsWith(`${role}.`)) && (rank === undefined || name.endsWith(`.${rank}.log`))
  return names.filter((name) => name.endsWith('.log') && wanted(name)).sort()
}

/** Lines of all logs of a folder with the name of their log before each, for one stream that carries several: `@trainer.0 text`. */
export async function* taggedLines(
  folder: string,
  selection: LogSelection,
  isOver: () => boolean,
  options: ReadLogsOptions = {},
): AsyncGenerator<string> {
  let name = ''
  for await (const text of readLogs(folder, selection, isOver, options)) {
    for (const line of text.replace(/\n$/, '').split('\n')) {
      const heading = /^==> (\S+) <==$/.exec(line)
      if (heading) name = heading[1]!
      // mpirun may cut what is longer in two.
      else yield `@${name} ${line.slice(0, TAGGED_CHARACTERS)}\n`
    }
  }
}

const TAGGED_CHARACTERS = 1000

/** What went wrong on a node, in the same stream. */
export const taggedFailure = (text: string) =>
  text
    .split('\n')
    .map((line) => `@${FAILURE} ${line.slice(0, TAGGED_CHARACTERS)}\n`)
    .join('')

/** The name that such lines have. */
export const FAILURE = 'failure.0'

/** What a line of such a stream belongs to. */
export function untagged(line: string): { readonly log: string; readonly text: string } {
  const [, log = 'job', text = line] = /^@([a-z_]+\.\d+) (.*)$/s.exec(line) ?? []
  return { log, text }
}

/** Whole lines only, so that no character is cut in two; the rest comes with the next look. */
function readFrom(within: string, path: string, position: number): string {
  let fd: number | undefined
  try {
    fd = openWithin(within, path)
    const buffer = Buffer.alloc(Math.max(0, Math.min(fstatSync(fd).size - position, 1 << 20)))
    const bytesRead = readSync(fd, buffer, 0, buffer.length, position)
    const end = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1
    return buffer.subarray(0, end > 0 ? end : bytesRead).toString('utf8')
  } catch {
    return '' // it is gone, or leads elsewhere: the other logs are read all the same
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
