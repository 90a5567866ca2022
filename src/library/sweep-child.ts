/** @file The process of a run of a sweep: noted in the run's folder, so that a later sweep knows when the one that a killed sweep left behind is gone. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processPlace, processStart } from '../base/util/index.ts'

interface NotedChild {
  readonly pid: number
  /** With which its number names it for ever. */
  readonly start: string
  /** Where process numbers mean the same. */
  readonly place: string
}

const FILE = 'process.json'
/** A process whose sweep is gone ends by itself within seconds, saving what it has; one that has not by then is ended. */
const PATIENCE_MS = 15_000
const LOOK_MS = 50

export function noteChild(folder: string, pid: number): void {
  const start = processStart(pid)
  if (start === undefined) return // it could not be started, or has ended already
  const noted: NotedChild = { pid, start, place: processPlace() }
  writeFileSync(join(folder, FILE), `${JSON.stringify(noted)}\n`)
}

export function forgetChild(folder: string): void {
  rmSync(join(folder, FILE), { force: true })
}

/** Resolves when the process that was noted in this folder runs no more: two would write one log and one model. */
export async function formerChildGone(folder: string, patienceMs = PATIENCE_MS): Promise<void> {
  const noted = readNote(folder)
  const isThere = () => noted?.place === processPlace() && processStart(noted.pid) === noted.start
  for (const until = performance.now() + patienceMs; isThere() && performance.now() < until; ) await sleep(LOOK_MS)
  if (isThere()) process.kill(process.platform === 'win32' ? noted!.pid : -noted!.pid, 'SIGKILL')
  while (isThere()) await sleep(LOOK_MS)
  forgetChild(folder)
}

function readNote(folder: string): NotedChild | undefined {
  try {
    const { pid, start, place } = JSON.parse(readFileSync(join(folder, FILE), 'utf8')) as NotedChild
    return Number.isSafeInteger(pid) && pid > 1 && typeof start === 'string' ? { pid, start, place } : undefined
  } catch {
    return undefined
  }
}
