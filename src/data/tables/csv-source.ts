/** @file CSV as a source: the lines of a byte range or of a gzip file, cells by the names in the header. */
import { anyFiles, contentOf, type ReadFile } from '../../base/fs/index.ts'
import { isUserError, UserError } from '../../base/util/index.ts'
import type { Chunk } from '../plan.ts'
import { afterMark } from '../text/head.ts'
import { linesOf, MAX_LINE_BYTES, tooLongLine } from '../text/long-line.ts'
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
const NEWLINE = 10
const OVERRUN = 64 * 1024

export function createCsvSource(writer: RowWriter, options: CsvSourceOptions): (chunk: Chunk) => Source {
  const { header = true, onBadLine } = options
  return async function* (chunk) {
    const { file } = chunk
    const gzip = file.endsWith('.gz')
    const delimiter = options.delimiter ?? (/\.tsv(\.gz)?$/.test(file) ? '\t' : ',')
    const first = await firstLine(file)
    const layout = layoutOf(splitCsv(first, delimiter), writer.columns, { file, delimiter, header })
    let [line, skipped] = [0, 0]
    try {
      for await (const { text, number } of gzip ? gzipLines(file) : rangeLines(chunk)) {
        line = number
        if (text.trim() === '' || (header && number === 1)) continue
        try {
          writer.add(cellsOf(text, layout))
        } catch (error) {
          if (onBadLine === 'error' || !isUserError(error)) throw error
          skipped++
        }
        if (!writer.full) continue
        yield { ...writer.take(0), skipped }
        skipped = 0
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

interface Line {
  readonly text: string
  /** From 1 over the file; not above 0 where only its distance from the range's first line is known: 0, -1, -2... */
  readonly number: number
}

/** The lines that start in the chunk's range. A cell in quotes must not hold a line break: ranges are cut at these. */
async function* rangeLines(chunk: Chunk): AsyncGenerator<Line> {
  const file = await anyFiles.open(chunk.file)
  try {
    const bytes = await readRange(file, chunk.file, chunk)
    const lines = bytes.toString('utf8').split('\n')
    if (lines.at(-1) === '') lines.pop()
    for (const [i, text] of lines.entries()) {
      yield { text: text.replace(/\r$/, ''), number: chunk.from === 0 ? i + 1 : -i }
    }
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

async function* gzipLines(file: string): AsyncGenerator<Line> {
  let number = 0
  for await (const text of linesOf(contentOf(anyFiles, file), file)) yield { text, number: ++number }
}

async function firstLine(path: string): Promise<string> {
  if (path.endsWith('.gz')) {
    for await (const { text } of gzipLines(path)) return text
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
