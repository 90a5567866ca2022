/** @file Reads what processes write to their logs, for the echo and the live view, and a log's last lines for a report. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'

const CHUNK = 64 * 1024
const SAMPLE = 4 * 1024

/** Hands out the complete lines of a growing file, each once. */
export class LineReader {
  readonly #path: string
  readonly #decoder = new StringDecoder('utf8')
  #offset = 0
  #partial = ''

  constructor(path: string) {
    this.#path = path
  }

  /** The lines completed since the last call; with `last` also one that has no end yet. */
  read(last = false): readonly string[] {
    const text = withFile(this.#path, (fd) => this.#readNew(fd)) ?? ''
    const lines = `${this.#partial}${text}`.split('\n')
    this.#partial = lines.pop()!
    if (last && this.#partial !== '') {
      lines.push(this.#partial)
      this.#partial = ''
    }
    return lines
  }

  #readNew(fd: number): string {
    const buffer = Buffer.allocUnsafe(CHUNK)
    let text = ''
    for (;;) {
      const bytes = readSync(fd, buffer, 0, CHUNK, this.#offset)
      if (bytes === 0) return text
      this.#offset += bytes
      text += this.#decoder.write(buffer.subarray(0, bytes))
    }
  }
}

/** The last lines of a file that are not empty; of a large file only its end is read. */
export function lastLines(path: string, count: number): readonly string[] {
  const text = withFile(path, (fd) => {
    const { size } = fstatSync(fd)
    const buffer = Buffer.allocUnsafe(Math.min(size, count === 1 ? SAMPLE : CHUNK))
    const bytes = readSync(fd, buffer, 0, buffer.length, size - buffer.length)
    return buffer.toString('utf8', 0, bytes)
  })
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '')
  return lines.slice(-count)
}

/** Undefined when the file is not there (any more): a log is never a reason to stop a job. */
function withFile<T>(path: string, work: (fd: number) => T): T | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, 'r')
    return work(fd)
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
