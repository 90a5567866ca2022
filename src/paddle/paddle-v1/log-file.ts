/** @file A log of limited size: when it is full it becomes FILE.1, that one FILE.2, and so on; the oldest goes. */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

export interface LogFileOptions {
  /** @default 16 MB */
  readonly maxBytes?: number
  /** Former ones that stay. @default 4 */
  readonly kept?: number
  /** The log cannot be written: called once. */
  readonly onFailure?: (error: Error) => void
}

export interface LogFile {
  /** Never throws: a job does not end because its disk is full. */
  write(text: string): void
  close(): void
}

const MAX_BYTES = 16 * 1024 * 1024

/** Each run begins a new file; what the one before wrote is FILE.1. */
export function openLogFile(path: string, options: LogFileOptions = {}): LogFile {
  const { maxBytes = MAX_BYTES, kept = 4, onFailure = () => undefined } = options
  let file: number | undefined
  let bytes = 0
  const begin = () => {
    if (file !== undefined) closeSync(file)
    file = undefined
    mkdirSync(dirname(path), { recursive: true })
    rotate(path, kept)
    file = openSync(path, 'w')
    bytes = 0
  }
  const guarded = (work: () => void) => {
    try {
      work()
    } catch (error) {
      if (file !== undefined) closeSync(file)
      file = undefined
      onFailure(error as Error)
    }
  }
  guarded(begin)
  return {
    write: (text) => {
      if (file === undefined) return
      guarded(() => {
        if (bytes > 0 && bytes + Buffer.byteLength(text) > maxBytes) begin()
        bytes += writeSync(file!, text)
      })
    },
    close: () => {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

function rotate(path: string, kept: number): void {
  rmSync(`${path}.${kept}`, { force: true })
  for (let i = kept - 1; i >= 1; i--) if (existsSync(`${path}.${i}`)) renameSync(`${path}.${i}`, `${path}.${i + 1}`)
  if (existsSync(path)) renameSync(path, `${path}.1`)
}
