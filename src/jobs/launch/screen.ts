/** @file What a launch shows: on a terminal one live row a process with the kept lines above, elsewhere plain lines. */
import {
  type Event,
  type EventOf,
  type EventSink,
  type ProgressStyle,
  processText,
  progressLine,
  type TerminalStream,
  type View,
} from '../../base/event/index.ts'
import { processTable, type Row } from './process-rows.ts'

const REDRAW_MS = 100
const DEFAULT_SIZE = { columns: 80, rows: 24 }

export interface RowStream extends TerminalStream {
  readonly rows?: number
}

export interface ScreenSink extends EventSink {
  /** Ends the redrawing; the rows stay as they are. Safe to call more than once. */
  close(): void
}

/** Plain lines: what the echoed worker prints as it is, and what happens to processes. */
export function plainSink(write: (text: string) => void): EventSink {
  return (event) => {
    const text = event.kind === 'process' ? processText(event) : keptText(event)
    if (text !== undefined) write(`${text}\n`)
  }
}

export function rowsSink(stream: RowStream, style: ProgressStyle = { color: false, unicode: true }): ScreenSink {
  const processes = new Map<string, Row>()
  let shown: readonly string[] = []
  let timer: NodeJS.Timeout | undefined
  let closed = false

  /** Back to the first cell of the first row; rows wider than a terminal that has shrunk take several lines. */
  const home = () => {
    const columns = stream.columns ?? DEFAULT_SIZE.columns
    const lines = shown.reduce((sum, row) => sum + Math.max(1, Math.ceil(row.length / columns)), 0)
    return shown.length === 0 ? '' : `\r${lines > 1 ? `\x1b[${lines - 1}A` : ''}`
  }
  const draw = (kept = '') => {
    clearTimeout(timer)
    timer = undefined
    const { columns = DEFAULT_SIZE.columns, rows = DEFAULT_SIZE.rows } = stream
    const before = home()
    shown = rowTexts(inOrder([...processes.values()]), { columns, rows }, style)
    const above = kept === '' ? '' : `${kept.replaceAll('\n', '\x1b[K\n')}\x1b[K\n`
    stream.write(`${before}${above}${shown.map((row) => `${row}\x1b[K`).join('\n')}\x1b[J`)
  }
  const drawSoon = () => {
    timer ??= setTimeout(draw, REDRAW_MS).unref()
  }
  stream.on('resize', drawSoon)

  const sink: EventSink = (event) => {
    if (closed) return
    if (event.kind === 'process' || event.kind === 'output') {
      const key = `${event.role} ${event.rank}`
      processes.set(key, { ...processes.get(key), ...rowOf(event) })
      // The bar of its row says what its batch lines say.
      if (event.kind === 'output' && processes.get(key)?.view && BATCH_LINE.test(event.line)) return drawSoon()
    }
    const kept = event.kind === 'process' && event.state === 'failed' ? processText(event) : keptText(event)
    if (kept === undefined) drawSoon()
    else draw(event.kind === 'output' ? forPeople(kept) : kept)
  }
  const close = () => {
    if (closed) return
    draw()
    closed = true
    stream.off('resize', drawSoon)
    if (shown.length > 0) stream.write('\n')
  }
  return Object.assign(sink, { close })
}

const BATCH_LINE = /(^|\bINFO - )(infer )?epoch: \d+, batch_id: \d+, /

function rowOf(event: EventOf<'process' | 'output'>): Row {
  if (event.kind === 'process') return { process: event }
  return event.view ? { view: event.view } : { line: event.line }
}

/** Hosts by their lowest rank, which is their order in the job; of each its servers, then its workers. The order in which they happen to start means nothing. */
function inOrder(rows: readonly Row[]): readonly Row[] {
  const lowest = new Map<string | undefined, number>()
  for (const { process } of rows)
    if (process) lowest.set(process.host, Math.min(process.rank, lowest.get(process.host) ?? process.rank))
  const places = rows.map((row, i) => {
    const { host, role = '', rank = i } = row.process ?? {}
    return { row, place: [lowest.get(host) ?? Number.POSITIVE_INFINITY, role, rank] as const }
  })
  return places
    .sort(({ place: a }, { place: b }) => a[0] - b[0] || a[1].localeCompare(b[1]) || a[2] - b[2])
    .map(({ row }) => row)
}

/** What stays above the rows, or is a line of its own without them. */
function keptText(event: Event): string | undefined {
  if (event.kind === 'output') return event.echo ? event.line : undefined
  if (event.kind === 'notice') return event.message
  if (event.kind === 'warning') return `warning: ${event.message}`
  if (event.kind === 'error') return [event.message, event.hint?.replaceAll(/^/gm, '  ')].filter(Boolean).join('\n')
  return undefined
}

/** Without the time before it, and with numbers that can be read: 0.58658046 is 0.5866. */
function forPeople(line: string): string {
  return line.replace(PREFIX, '').replaceAll(/(?<![\w.])\d+\.\d{5,}(?![\w.])/g, (number) => {
    const value = Number(number)
    return value >= 100 ? value.toFixed(0) : value.toFixed(4)
  })
}

/** One row a process, between a line of titles and the job's bar as soon as one says how far it is, cut to the terminal; when there are more than fit, the last row counts the rest. */
export function rowTexts(
  rows: readonly Row[],
  size: { readonly columns: number; readonly rows: number },
  style: ProgressStyle = { color: false, unicode: true },
): readonly string[] {
  const width = size.columns - 1
  const table = rows.length > 1 ? processTable(rows, width, Date.now()) : undefined
  const bar = table && jobBar(rows, width, style)
  const below = bar === undefined ? [] : [bar]
  const room = Math.max(1, size.rows - 2 - below.length)
  const texts = table ?? rows.map((row) => cut(rowText(row, width, style), width))
  if (texts.length <= room) return [...texts, ...below]
  return [...texts.slice(0, room - 1), cut(`... and ${texts.length - room + 1} more`, width), ...below]
}

/** How far the job is, below its processes: their rates add up, the rest is what the first of those that train says. */
function jobBar(rows: readonly Row[], width: number, style: ProgressStyle): string | undefined {
  const views = rows.flatMap(({ process, view }) => (process?.state === 'running' && view?.batch ? [view] : []))
  const [first] = views
  if (!first?.batch) return undefined
  const samplesPerSecond = views.reduce((sum, { batch }) => sum + batch!.samplesPerSecond, 0)
  return progressLine({ ...first, batch: { ...first.batch, samplesPerSecond } }, Date.now(), width, style)
}

function rowText({ process, line = '', view }: Row, columns: number, style: ProgressStyle): string {
  if (!process) return plain(line)
  const bar = view && process.state === 'running' ? barOf(process, view, columns, style) : undefined
  if (bar !== undefined) return bar
  const { role, rank, pid, state, exit, host } = process
  const how = state === 'failed' && exit ? `failed: ${exit}` : state
  const where = host === undefined ? '' : `${host.padEnd(HOST_COLUMNS)} `
  return `${where}${`${role} ${rank}`.padEnd(10)} pid ${String(pid).padEnd(7)} ${how.padEnd(8)}  ${plain(line)}`
}

/** How far a process is: its share, rate, loss and AUC, and when it will be done. */
function barOf(
  { role, rank, host }: EventOf<'process'>,
  view: View,
  columns: number,
  style: ProgressStyle,
): string | undefined {
  const who = `${host === undefined ? '' : `${host} `}${role} ${rank}  `
  const line = progressLine(view, Date.now(), columns - who.length, style)
  return line === undefined ? undefined : `${who}${line}`
}

const HOST_COLUMNS = 20 // `root@192.168.100.17`; what is longer takes its room

/** PaddleRec's `time - LEVEL - ` or the first trainer's `I1115 time pid trainer] ` before every line: a row has no room for them. */
const PREFIX = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - [A-Z]+ - |[A-Z]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\] +)/

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const ESCAPES = /\x1b\[[\d;?]*[A-Za-z]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const CONTROLS = /[\x00-\x1f\x7f]/g

/** Without escape sequences and control characters, which would move the cursor. */
function plain(line: string): string {
  return line.replace(PREFIX, '').replaceAll(ESCAPES, '').replaceAll(CONTROLS, ' ')
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

/** Cut to so many columns; Chinese characters take two. */
function cut(text: string, columns: number): string {
  let width = 0
  let end = 0
  for (const character of text) {
    width += WIDE.test(character) ? 2 : 1
    if (width > columns) return text.slice(0, end)
    end += character.length
  }
  return text
}
