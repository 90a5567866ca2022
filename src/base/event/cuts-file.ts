/** @file What a process of a launched job has saved to go on from, noted beside its log: the launcher starts the job again only where there is something. */
import { appendFileSync, readFileSync, rmSync } from 'node:fs'

const ENDING = '.cuts'

/** Called once a cut is whole and in its place. */
export function noteCut(log: string, path: string): void {
  try {
    appendFileSync(`${log}${ENDING}`, `${path}\n`)
  } catch {
    // A full disk: the cut itself is there.
  }
}

/** How many there were. */
export function countCuts(log: string): number {
  try {
    return readFileSync(`${log}${ENDING}`, 'utf8').split('\n').length - 1
  } catch {
    return 0 // none yet
  }
}

export function forgetCuts(log: string): void {
  rmSync(`${log}${ENDING}`, { force: true })
}
