/** @file How far a process is, in one small file that is replaced whole: who reads it never sees half of it. */
import { renameSync, writeFileSync } from 'node:fs'
import { type ReadFile, readPlain } from './read-plain.ts'
import type { ProcessStatus } from './run-paths.ts'

export function writeStatus(path: string, status: ProcessStatus): void {
  replaceFile(path, `${JSON.stringify(status)}\n`)
}

export function readStatus(path: string, read?: ReadFile): ProcessStatus | undefined {
  const value = readJson(path, read) as ProcessStatus | undefined
  return typeof value?.pid === 'number' && typeof value.role === 'string' ? value : undefined
}

export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.${process.pid}.new`, text)
  renameSync(`${path}.${process.pid}.new`, path)
}

/** Undefined where there is none, or it is no JSON. */
export function readJson(path: string, read: ReadFile = readPlain): unknown {
  try {
    return JSON.parse(read(path).toString('utf8'))
  } catch {
    return undefined
  }
}
