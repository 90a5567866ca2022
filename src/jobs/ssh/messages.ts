/** @file What the lines between launcher and host may be: one row for each request and each answer. */
import {
  anything,
  byKind,
  checkMessage,
  fields,
  list,
  MEGABYTE,
  oneOf,
  optional,
  type Reader,
  readPlainError,
  record,
  text,
  truth,
  whole,
} from '../../base/net/index.ts'
import type {
  AnswerOf,
  FileEntry,
  FromHost,
  Hello,
  HostFacts,
  Note,
  OperationName,
  ProcessRequest,
  RequestOf,
  ToHost,
} from './protocol.ts'

const word = text(4096)
const line = text(MEGABYTE)
const count = whole(0, Number.MAX_SAFE_INTEGER)
const port = whole(1, 65_535)
const role = oneOf(['server', 'worker'])
/** More than any job has. */
const [MOST_FILES, MOST_PROCESSES, MOST_VARIABLES] = [1_000_000, 100_000, 10_000]
/** A word for each cut and epoch. */
const MOST_NOTES = 1_000_000
const ports = list(port, MOST_PROCESSES)
const maybe = <T>(read: Reader<T>) => optional(read) as Reader<T>
const nothing: Reader<null> = (value, at) => {
  checkMessage(value === null, `${at}: expected nothing`)
  return null
}

/** Below a folder that both sides know. */
const pathBelow: Reader<string> = (value, at) => {
  const path = word(value, at)
  const isBelow = path !== '' && !path.startsWith('/') && !path.split(/[\\/]/).includes('..') && !path.includes('\0')
  checkMessage(isBelow, `${at}: expected a path below the folder`)
  return path
}
const paths = list(pathBelow, MOST_FILES)
const files = list(
  fields<FileEntry>({ path: pathBelow, bytes: count, sha256: text(64, /^[0-9a-f]{64}$/), executable: truth }),
  MOST_FILES,
)

export const REQUESTS: { readonly [K in OperationName]: Reader<RequestOf<K>> } = {
  look: fields<RequestOf<'look'>>({ root: word, make: maybe(truth), nic: word, ports }),
  take: fields<RequestOf<'take'>>({ root: word, folder: word, files, folders: paths }),
  seal: fields<RequestOf<'seal'>>({ folder: word, files }),
  open: fields<RequestOf<'open'>>({ folder: word, node: optional(count) }),
  ports: fields<RequestOf<'ports'>>({ count: whole(0, 65_535) }),
  start: fields<ProcessRequest>({
    job: word,
    role,
    rank: whole(0, MOST_PROCESSES),
    folder: word,
    command: list(line, MOST_VARIABLES),
    env: record(line, MOST_VARIABLES),
    libraryPath: line,
    log: pathBelow,
    goesOn: optional(truth),
  }),
  reach: fields<RequestOf<'reach'>>({ endpoints: list(word, MOST_PROCESSES), timeoutMs: count }),
  stop: fields<RequestOf<'stop'>>({ folder: word, job: word, role, stopMs: count }),
}

export const ANSWERS: { readonly [K in OperationName]: Reader<AnswerOf<K>> } = {
  look: fields<HostFacts>({
    nicAddress: optional(word),
    nics: list(word, MOST_VARIABLES),
    unwritable: optional(word),
    freeBytes: count,
    taken: ports,
  }),
  take: fields<AnswerOf<'take'>>({ missing: paths }),
  seal: nothing,
  open: nothing,
  ports,
  start: fields<AnswerOf<'start'>>({ pid: count }),
  reach: fields<AnswerOf<'reach'>>({ missing: list(word, MOST_PROCESSES) }),
  stop: fields<AnswerOf<'stop'>>({ stopped: list(count, MOST_PROCESSES) }),
}

const NAMES = Object.keys(REQUESTS) as readonly OperationName[]

export const readRequest = fields<ToHost>({ id: count, name: oneOf(NAMES), request: anything })

/** A line of a host, or of a shell that says what the host lacks. */
export type HostLine = FromHost & { readonly lacks?: 'node' | 'oarfish' | 'version'; readonly found?: string }

const rank = whole(0, MOST_PROCESSES)
const note = byKind<Note>({
  output: fields<Extract<Note, { kind: 'output' }>>({ kind: oneOf(['output']), role, rank, line }),
  ended: fields<Extract<Note, { kind: 'ended' }>>({
    ...{ kind: oneOf(['ended']), role, rank, code: whole(-1, 1000), text: line },
    lines: list(line, MOST_VARIABLES),
    notes: list(word, MOST_NOTES),
  }),
})

/** The body of an answer is read by the row of what was asked. */
export const readHostLine = fields<HostLine>({
  hello: maybe(fields<Hello>({ version: word, node: word, address: word, home: word })),
  note: maybe(note),
  id: maybe(count),
  answer: anything,
  error: maybe(readPlainError),
  lacks: maybe(oneOf(['node', 'oarfish', 'version'])),
  found: maybe(word),
})
