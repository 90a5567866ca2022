/** @file What a command prints, as bytes to fill a buffer with: through a named pipe where there is one, else through Node's streams. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { type FifoEnds, type FifoPaths, openFifo } from './fifo.ts'
import { type ByteSource, fromPieces } from './text-stream.ts'

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
  const [heard, errors] = [openSync(paths.errors, 'r'), openSync(paths.errors, 'a')]
  return {
    given: [output.write, errors],
    read: async (into) => readSync(output.read, into, 0, into.length, null),
    stderr: () => {
      const bytes = Buffer.alloc(STDERR_KEPT)
      const from = Math.max(0, fstatSync(heard).size - STDERR_KEPT)
      return bytes.toString('utf8', 0, readSync(heard, bytes, 0, STDERR_KEPT, from))
    },
    close: () => {
      closeSync(output.read)
      closeSync(heard)
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
