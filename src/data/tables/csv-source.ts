/** @file CSV as a source: the lines of a byte range or of a gzip file, cells by the names in the header. */
import { anyFiles, contentOf, type ReadFile } from '../../base/fs/index.ts'
import { isUserError, UserError } from '../../base/util/index.ts'
import type { Chunk } from '../plan.ts'
import { afterMark } from '../text/head.ts'
import { MAX_LINE_BYTES, tooLongLine, wholeLines } from '../text/long-line.ts'
import { countLines, type Source } from '../text/text-source.ts'
import { damagedGzip } from '../text/text-stream.ts'
import { type ColumnsOptions, noColumn } from './column-spec.ts'
import type { RowWriter } from './row-writer.ts'

export interface CsvSourceOptions extends ColumnsOptions {
  readonly onBadLine: 'error' | 'skip'
}

interface Layout {
  readonly delimiter: string
  /** Cells of a line. */
  readonly width: number
  /** For each column the writer wants, its place in a line. */
  readonly places: readonly number[]
}

const MEND = 'Mend the row, or set runner.on_bad_line: skip to count such rows and leave them out.'
const [NEWLINE, RETURN, BLANK, QUOTE, LAST_ASCII] = [10, 13, 32, 34, 127]
const OVERRUN = 64 * 1024

export function createCsvSource(writer: RowWriter, options: CsvSourceOptions): (chunk: Chunk) => Source {
  const { header = true, onBadLine } = options
  return async function* (chunk) {
    const { file } = chunk
    const gzip = file.endsWith('.gz')
    const delimiter = options.delimiter ?? (/\.tsv(\.gz)?$/.test(file) ? '\t' : ',')
    const first = await firstLine(file)
    const layout = layoutOf(splitCsv(first, delimiter), writer.columns, { file, delimiter, header })
    const addLine = lineAdder(writer, layout)
    let [line, skipped] = [0, 0]
    try {
      for await (const block of gzip ? gzipLines(file) : rangeLines(chunk)) {
        const { bytes, first: number, step } = block
        for (let [at, i] = [0, 0]; at < bytes.length; i++) {
          const end = newlineAt(bytes, at)
          line = number + step * i
          try {
            if (!header || line !== 1) addLine(bytes, at, end)
          } catch (error) {
            if (onBadLine === 'error' || !isUserError(error)) throw error
            skipped++
          }
          at = end + 1
          if (!writer.full) continue
          yield { ...writer.take(0), skipped }
          skipped = 0
        }
      }
    } catch (error) {
      // What was read before the failure still counts.
      yield writer.take(0)
      if (!isUserError(error)) throw damagedGzip(error, file)
      const { message, code, where, hint = MEND } = error
      if (where !== undefined) throw error
      const at = line > 0 ? line : await lineAt(chunk, -line)
      throw new UserError(message, { code, where: { file, line: at }, hint, cause: error })
    }
    yield { ...writer.take(chunk.to - chunk.from), skipped }
  }
}

function layoutOf(
  names: readonly string[],
  wanted: readonly string[],
  { file, delimiter, header }: { file: string; delimiter: string; header: boolean },
): Layout {
  const known = header ? names.map((name) => name.trim()) : names.map((_, i) => String(i + 1))
  const places = wanted.map((name) => {
    const place = known.indexOf(name)
    if (place >= 0) return place
    throw noColumn(name, known, { file, line: 1 })
  })
  return { delimiter, width: known.length, places }
}

function cellsOf(text: string, { delimiter, width, places }: Layout): readonly string[] {
  const cells = splitCsv(text, delimiter)
  if (cells.length === width) return places.map((place) => cells[place]!)
  throw new UserError(`Expected ${width} cells as in the first line, found ${cells.length}.`, { code: 'DATA_CELL' })
}

/** Adds the line from one byte to another; one without quotes as it lies there. */
function lineAdder(writer: RowWriter, layout: Layout): (bytes: Buffer, from: number, to: number) => void {
  const { delimiter, width, places } = layout
  const code = delimiter.length === 1 && delimiter.charCodeAt(0) <= LAST_ASCII ? delimiter.charCodeAt(0) : undefined
  const starts = new Int32Array(width + 2)
  const bounds = new Int32Array(2 * places.length)
  return (bytes, from, lineEnd) => {
    const to = lineEnd > from && bytes[lineEnd - 1] === RETURN ? lineEnd - 1 : lineEnd
    if (code === undefined || !cellStarts(bytes, from, to, code, starts, width)) {
      const text = bytes.toString('utf8', from, to)
      if (text.trim() !== '') writer.add(cellsOf(text, layout))
      return
    }
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!
      bounds[2 * i] = starts[place]!
      bounds[2 * i + 1] = starts[place + 1]! - 1
    }
    writer.addBytes(bytes, bounds)
  }
}

/** Where each of `width` cells begins, and one behind the end; false where there are quotes, or another number of cells. */
function cellStarts(bytes: Buffer, from: number, to: number, code: number, starts: Int32Array, width: number): boolean {
  // What may be a line of blanks is looked at as text.
  if (from === to || bytes[from]! <= BLANK || bytes[from]! > LAST_ASCII) return false
  let cells = 1
  starts[0] = from
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (byte === code) {
      if (cells === width) return false
      starts[cells++] = at + 1
    } else if (byte === QUOTE) return false
  }
  starts[cells] = to + 1
  return cells === width
}

function newlineAt(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(NEWLINE, from)
  return end < 0 ? bytes.length : end
}

/** Whole lines. */
interface Lines {
  readonly bytes: Buffer
  /** Of the first, from 1 over the file; not above 0 where only its distance from the range's first line is known: 0, -1, -2... */
  readonly first: number
  readonly step: 1 | -1
}

/** The lines that start in the chunk's range. A cell in quotes must not hold a line break: ranges are cut at these. */
async function* rangeLines(chunk: Chunk): AsyncGenerator<Lines> {
  const file = await anyFiles.open(chunk.file)
  try {
    const bytes = await readRange(file, chunk.file, chunk)
    yield chunk.from === 0 ? { bytes, first: 1, step: 1 } : { bytes, first: 0, step: -1 }
  } finally {
    await file.close()
  }
}

async function readRange(file: ReadFile, name: string, { from, to }: Pick<Chunk, 'from' | 'to'>): Promise<Buffer> {
  const base = Math.max(0, from - 1)
  let buffer = Buffer.allocUnsafe(to - base + OVERRUN)
  let used = await file.read(buffer, base)
  const start = from === 0 ? afterMark(buffer) : lineEnd(buffer.subarray(0, used), 0)
  if (from > 0 && start >= to - base) return Buffer.alloc(0)
  for (;;) {
    const newline = buffer.subarray(0, used).indexOf(NEWLINE, to - base - 1)
    if (newline >= 0) return buffer.subarray(start, newline + 1)
    if (used < buffer.length) return buffer.subarray(start, used)
    const longest = buffer.lastIndexOf(NEWLINE, used - 1) + 1
    if (used - longest > MAX_LINE_BYTES) throw tooLongLine(name, (await countLines(file, base + longest)) + 1)
    buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)])
    used += await file.read(buffer.subarray(used), base + used)
  }
}

/** The number of the line `after` lines behind the first that starts in the range. */
async function lineAt(chunk: Chunk, after: number): Promise<number> {
  const file = await anyFiles.open(chunk.file)
  try {
    // The line under way at the range's start ends before the first of its own.
    const atStart = await countLines(file, chunk.from - 1)
    return atStart + 1 + 1 + after
  } finally {
    await file.close()
  }
}

async function* gzipLines(file: string): AsyncGenerator<Lines> {
  for await (const lines of wholeLines(contentOf(anyFiles, file), file)) yield { ...lines, step: 1 }
}

async function firstLine(path: string): Promise<string> {
  if (path.endsWith('.gz')) {
    for await (const { bytes } of gzipLines(path))
      return bytes.toString('utf8', 0, newlineAt(bytes, 0)).replace(/\r$/, '')
    return ''
  }
  const file = await anyFiles.open(path)
  try {
    const head = await readRange(file, path, { from: 0, to: Math.min(1, file.bytes) })
    return head.toString('utf8').replace(/\r?\n$/, '')
  } finally {
    await file.close()
  }
}

function lineEnd(bytes: Uint8Array, from: number): number {
  const at = bytes.indexOf(NEWLINE, from)
  return at < 0 ? bytes.length : at + 1
}

/** Cells of one line of CSV (RFC 4180, but without line breaks inside quotes). */
function splitCsv(line: string, delimiter: string): string[] {
  if (!line.includes('"')) return line.split(delimiter)
  const cells: string[] = []
  for (let at = 0; at <= line.length; ) {
    if (line[at] !== '"') {
      const end = endOf(line, delimiter, at)
      cells.push(line.slice(at, end))
      at = end + delimiter.length
      continue
    }
    const close = closingQuote(line, at + 1)
    cells.push(line.slice(at + 1, close).replaceAll('""', '"'))
    at = endOf(line, delimiter, close + 1) + delimiter.length
  }
  return cells
}

function endOf(line: string, delimiter: string, from: number): number {
  const end = line.indexOf(delimiter, from)
  return end < 0 ? line.length : end
}

function closingQuote(line: string, from: number): number {
  for (let at = from; at < line.length; at++) {
    if (line[at] !== '"') continue
    if (line[at + 1] !== '"') return at
    at++
  }
  throw new UserError('A quote is not closed in its line; a cell must not hold a line break.', { code: 'DATA_CELL' })
}
