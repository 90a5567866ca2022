/** @file How far a process is, in a file beside its log: what a launcher's terminal shows of it. Logs keep PaddleRec's lines, which do not say. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Event, EventSink } from './event.ts'
import { EMPTY_VIEW, foldView, type View } from './view.ts'

const WRITE_MS = 200
const ENDING = '.view'
const WRITTEN: ReadonlySet<Event['kind']> = new Set(['tables', 'epoch', 'done'])

/** Passes events on, and keeps `log`.view up to date. */
export function withViewFile(emit: EventSink, log: string): EventSink {
  let view = EMPTY_VIEW
  let writtenAt = Number.NEGATIVE_INFINITY
  return (event) => {
    emit(event)
    view = foldView(view, event, Date.now())
    if (event.kind === 'batch' ? Date.now() - writtenAt < WRITE_MS : !WRITTEN.has(event.kind)) return
    writtenAt = Date.now()
    try {
      // In one move: the launcher reads at any time.
      writeFileSync(
        `${log}${ENDING}.new`,
        JSON.stringify({ ...view, memory: process.memoryUsage.rss() } satisfies View),
      )
      renameSync(`${log}${ENDING}.new`, `${log}${ENDING}`)
    } catch {
      // A full disk shows no progress; training goes on.
    }
  }
}

export function readView(log: string): View | undefined {
  try {
    return JSON.parse(readFileSync(`${log}${ENDING}`, 'utf8')) as View
  } catch {
    return undefined // none yet
  }
}

export function removeView(log: string): void {
  rmSync(`${log}${ENDING}`, { force: true })
}
