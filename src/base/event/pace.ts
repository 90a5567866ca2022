/** @file How far something is that takes long, in one line: the share, rows or bytes a second, and the time that the rest will take. */
import { sizeText } from '../util/index.ts'
import { clockText, rateText } from './text.ts'

const RATES = {
  rows: rateText,
  bytes: (perSecond: number) => `${sizeText(perSecond)}/s`,
} as const

export type PaceUnit = keyof typeof RATES

/** Begins now; the line of what is done so far. A clock that cannot go back tells the time. */
export function paceLine(what: string, unit: PaceUnit, now = () => performance.now()) {
  const begun = now()
  return (done: number, of: number): string => {
    const share = `${what} ${Math.min(100, Math.floor((100 * done) / Math.max(1, of)))}%`
    const seconds = (now() - begun) / 1000
    if (done <= 0 || seconds <= 0) return share
    const perSecond = done / seconds
    return `${share} ${RATES[unit](perSecond)} ETA ${clockText(Math.max(0, of - done) / perSecond)}`
  }
}

/** The part of a terminal that is used. */
interface Screen {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const REDRAW_MS = 100

/** Such a line, redrawn in place and erased at the end; nothing where nobody looks. */
export function paceOn(out: Screen, what: string, unit: PaceUnit): (done: number, of: number) => void {
  if (!out.isTTY) return () => undefined
  const line = paceLine(what, unit)
  let drawnAt = Number.NEGATIVE_INFINITY
  return (done, of) => {
    if (done < of && performance.now() - drawnAt < REDRAW_MS) return
    drawnAt = performance.now()
    out.write(done >= of ? '\r\x1b[K' : `\r${line(done, of)}\x1b[K`)
  }
}
