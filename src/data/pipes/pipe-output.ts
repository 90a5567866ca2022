/** @file What a command prints, as bytes to fill a buffer with: through Node's streams, or through a named pipe of the system, which a thread reads as it reads a file, without an event loop in between. */

import { spawnSync } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync, readSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { makeOwnFolder, removeLeftovers } from '../../base/util/index.ts'
import { type ByteSource, fromPieces } from '../text/text-stream.ts'

export interface PipeOutput extends ByteSource {
  /** The last of what it said on stderr so far. */
  stderr(): string
  close(): void
}

export interface FifoOutput extends PipeOutput {
  /** The command's stdout and stderr, to be closed here once it has them. */
  readonly given: readonly [number, number]
}

const STDERR_KEPT = 4 * 1024

/** Its reads block the thread until the command prints. Undefined while a process from before still has the pipe open. */
export function fifoOutput(paths: FifoPaths): FifoOutput | undefined {
  const output: FifoEnds | undefined = openFifo(paths.output)
  if (!output) return undefined
  closeSync(openSync(paths.errors, 'w'))
  const [written, errors] = [openSync(paths.errors, 'r'), openSync(paths.errors, 'a')]
  return {
    given: [output.write, errors],
    read: async (into) => readSync(output.read, into, 0, into.length, null),
    stderr: () => {
      const bytes = Buffer.alloc(STDERR_KEPT)
      const from = Math.max(0, fstatSync(written).size - STDERR_KEPT)
      return bytes.toString('utf8', 0, readSync(written, bytes, 0, STDERR_KEPT, from))
    },
    close: () => {
      closeSync(output.read)
      closeSync(written)
    },
  }
}

export function streamOutput(stdout: Readable, stderr: Readable): PipeOutput {
  let said = ''
  stderr.setEncoding('utf8').on('data', (more: string) => {
    said = (said + more).slice(-STDERR_KEPT)
  })
  const { read } = fromPieces(stdout as AsyncIterable<Uint8Array>)
  return { read, stderr: () => said, close: () => stdout.destroy() }
}

/** What a thread's commands write to. */
export interface FifoPaths {
  /** A named pipe. */
  readonly output: string
  /** A file: a command that waits until its errors are read, while its thread waits for output, would wait for ever. */
  readonly errors: string
}

export interface FifoFolder {
  /** One entry a thread. */
  readonly paths: readonly FifoPaths[]
  remove(): void
}

const ERRORS_BYTES = 1024 * 1024
const TIDY_MS = 1000

/** Makes the pipes of so many threads; undefined where the system has none (Windows). */
export function makeFifos(threads: number): FifoFolder | undefined {
  if (process.platform === 'win32') return undefined
  removeLeftovers()
  const folder = makeOwnFolder('fifo')
  const paths = Array.from({ length: threads }, (_, i) => ({
    output: join(folder, `output-${i}`),
    errors: join(folder, `errors-${i}`),
  }))
  const tidying = setInterval(() => tidy(paths), TIDY_MS).unref()
  const remove = () => {
    clearInterval(tidying)
    rmSync(folder, { recursive: true, force: true })
  }
  const { status } = spawnSync('mkfifo', ['-m', '600', ...paths.map(({ output }) => output)])
  if (status === 0) return { paths, remove }
  remove()
  return undefined
}

/** Only the last lines are ever shown: a command that never stops complaining must not fill the disk. */
function tidy(paths: readonly FifoPaths[]): void {
  for (const { errors } of paths) {
    const bytes = statSync(errors, { throwIfNoEntry: false })?.size ?? 0
    if (bytes > ERRORS_BYTES) truncateSync(errors)
  }
}

export interface FifoEnds {
  readonly read: number
  readonly write: number
}

/** Both ends of a pipe; undefined while somebody from before still has it open. */
export function openFifo(path: string): FifoEnds | undefined {
  const first = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!isAtEnd(first)) return undefined
    // Neither blocks: each finds the other end open.
    return { write: openSync(path, constants.O_WRONLY), read: openSync(path, constants.O_RDONLY) }
  } finally {
    closeSync(first)
  }
}

/** The end of a pipe shows only where nobody has it open for writing. */
function isAtEnd(file: number): boolean {
  try {
    return readSync(file, new Uint8Array(1)) === 0
  } catch {
    return false
  }
}

/** Wakes whoever reads the pipe and gets nothing, though somebody has it open for writing. */
export function wakeReader(path: string): void {
  try {
    const file = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    writeSync(file, '\n')
    closeSync(file)
  } catch {
    // Nobody reads it, or it is full.
  }
}
