/** @file Progress on a terminal: one line redrawn in place, epoch summaries kept above it. */
import type { EventSink } from './event.ts'
import { keptText, type ProgressStyle, progressLine } from './progress-text.ts'
import { type Curves, foldCurves, foldWaited, hintLine, NOT_WAITED, plotLines, timeLine } from './run-end.ts'
import { EMPTY_VIEW, foldView } from './view.ts'

const REDRAW_MS = 100 // at most ten a second
const DEFAULT_COLUMNS = 80
/** Columns left free: the terminal's last one (it would wrap) and room for the `^C` a terminal echoes. */
const MARGIN = 3

/** The part of a terminal stream that is used. */
export interface TerminalStream {
  readonly columns?: number
  write(text: string): unknown
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

export interface ProgressSink extends EventSink {
  /** Erases the bar and lets the stream go; safe to call at any time and more than once. */
  close(): void
}

export function progressSink(stream: TerminalStream, style: ProgressStyle): ProgressSink {
  let view = EMPTY_VIEW
  let curves: Curves = {}
  let waited = NOT_WAITED
  let shownWidth = 0 // columns of the bar on the screen, 0 when there is none
  let drawnAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  const columns = () => stream.columns || DEFAULT_COLUMNS
  /**
   * A bar wider than a terminal that has shrunk was wrapped by it: erase its rows from the last to the first.
   * Row by row, since terminals may save what "clear to the end of the screen" removes in their history.
   */
  const erase = () => {
    if (shownWidth === 0) return ''
    const rowsAbove = Math.ceil(shownWidth / columns()) - 1
    shownWidth = 0
    return `\r\x1b[K${'\x1b[A\x1b[K'.repeat(rowsAbove)}`
  }
  const bar = () => {
    const line = progressLine(view, Date.now(), columns() - MARGIN, style) ?? ''
    shownWidth = visibleWidth(line)
    if (line !== '') drawnAt = Date.now()
    return line
  }
  const draw = () => {
    clearTimeout(timer)
    timer = undefined
    // Without a change of size the new line covers the old one and nothing is erased first: no flicker.
    const before = shownWidth > 0 && shownWidth <= columns() ? '\r' : erase()
    stream.write(`${before}${bar()}\x1b[K`)
  }
  const drawSoon = () => {
    const wait = drawnAt + REDRAW_MS - Date.now()
    if (wait <= 0) draw()
    else timer ??= setTimeout(draw, wait).unref()
  }
  stream.on('resize', drawSoon)

  const sink: EventSink = (event) => {
    const text = keptText(event, view, style)
    view = foldView(view, event, Date.now())
    curves = foldCurves(curves, event)
    waited = foldWaited(waited, event)
    const end =
      event.kind === 'done' ? [...plotLines(curves, style.unicode), ...timeLine(event), ...hintLine(event, waited)] : []
    const kept = text === undefined || end.length === 0 ? text : [text, ...end].join('\n')
    if (kept !== undefined) {
      clearTimeout(timer)
      timer = undefined
      const before = erase()
      stream.write(`${before}${kept}\n${bar()}`)
    } else if (event.kind === 'batch' || event.kind === 'progress') drawSoon()
  }
  const close = () => {
    clearTimeout(timer)
    timer = undefined
    stream.off('resize', drawSoon)
    stream.write(erase())
  }
  return Object.assign(sink, { close })
}

function visibleWidth(line: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape sequences
  return line.replaceAll(/\x1b\[\d+m/g, '').length
}
