/**
 * @file Which run folder a launched process writes, noted beside its log: the launcher, which knows no config, adds there what it sees, and whoever shows
 * the log knows by it that the log is that run's. A record of a run may name any file; the note is written where the log is.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readPlain } from './read-plain.ts'

export const noteOf = (log: string) => join(dirname(log), `.${basename(log)}.run`)

export function noteRun(log: string, folder: string): void {
  try {
    writeFileSync(noteOf(log), folder)
  } catch {
    // A full disk: the run folder itself is there.
  }
}

export function runOfLog(log: string): string | undefined {
  try {
    return readPlain(noteOf(log)).toString('utf8') || undefined
  } catch {
    return undefined // none yet
  }
}

export function removeRunNote(log: string): void {
  rmSync(noteOf(log), { force: true })
}
