/** @file Text sources on a reader thread: a byte range of a plain file, a gzip file or a stream, parsed to parts in order. */
import { anyFiles, gunzipFile, type ReadFile } from '../fs/index.ts'
import { createTextParser, type TextFormat, type TextParser } from '../kernel/index.ts'
import { UserError } from '../util/index.ts'
import { badLineError } from './bad-line.ts'
import type { Slot } from './batch.ts'
import { takeLeading } from './leading.ts'
import type { ThreadSettings } from './messages.ts'
import type { Columns } from './pack.ts'
import { CHUNK_BYTES, type Chunk } from './plan.ts'
import { fromPieces, type TextStream } from './text-stream.ts'

/** Samples parsed from one stretch of a source. Columns are valid until the next part is asked for. */
export interface SourcePart {
  readonly columns: Columns
  /** Bytes of the input (compressed, for gzip) that this part stands for. */
  readonly bytes: number
  /** Bad lines left out. */
  readonly skipped: number
  /** Names of undeclared slots, each once a thread. */
  readonly ignored: readonly string[]
  /** The texts before each sample's slots, where the data has them. */
  readonly leading?: readonly (readonly string[])[]
  /** Over the source's text up to the end of this part, or a little beyond. */
  readonly checksum?: number
}

export type Source = AsyncGenerator<SourcePart, void>

export interface TextSources {
  range(chunk: Chunk, format: TextFormat): Source
  gzip(chunk: Chunk, format: TextFormat): Source
  /** Text that comes bit by bit, such as a pipe's; its parts carry checksums if asked. */
  stream(chunk: Chunk, format: TextFormat, text: TextStream, checked?: boolean): Source
}

const NEWLINE = 10
/** Text of a stream that is parsed at a time. */
const STREAM_BYTES = CHUNK_BYTES - 256 * 1024
/** Read beyond that at a time, until a line ends. */
const MORE_BYTES = 256 * 1024
/** Read beyond a range's end, where its last line mostly ends. */
const OVERRUN = 8 * 1024
const MAX_LINE_BYTES = 256 * 1024 * 1024

/** Sources that share one parser: one source is read at a time. */
export function createTextSources(
  slots: readonly Slot[],
  onBadLine: 'error' | 'skip',
  { leadingFields = 0, padding = 0 }: Pick<ThreadSettings, 'leadingFields' | 'padding'> = {},
): TextSources {
  // A line left out would give its instance id to the next one.
  const skipBad = onBadLine === 'skip' && leadingFields === 0
  let parser = createTextParser(slots, CHUNK_BYTES + 2 * OVERRUN, { skipBad, padding })

  /** Makes room for `bytes` of text, keeping the first `used`. */
  const reserve = (bytes: number, used: number, file: string) => {
    if (bytes <= parser.capacity) return
    if (bytes > MAX_LINE_BYTES) throw tooLongLine(file)
    const larger = createTextParser(slots, Math.max(bytes, 2 * parser.capacity), { skipBad, padding })
    larger.text.set(parser.text.subarray(0, used))
    parser = larger
  }
  const parse = (stretch: Stretch) => {
    const { format, from, to } = stretch
    const taken = leadingFields > 0 && format === 'multislot'
    const leading = taken ? takeLeading(parser.text, from, to, leadingFields) : undefined
    return parseStretch(parser, slots, { ...stretch, ...(leading && { leading }) })
  }

  return {
    range: async function* (chunk, format) {
      const file = await anyFiles.open(chunk.file)
      try {
        const { from, to, at } = await readLines(file, chunk)
        yield* parse({
          file: chunk.file,
          format,
          from,
          to,
          bytes: chunk.to - chunk.from,
          linesBefore: () => countLines(file, at),
        })
      } finally {
        await file.close()
      }
    },
    gzip: async function* (chunk, format) {
      const text = gunzipped(chunk.file)
      try {
        yield* stream(chunk, format, text)
      } finally {
        await text.leave()
      }
    },
    stream,
  }

  async function* stream(chunk: Chunk, format: TextFormat, text: TextStream, checked = false): Source {
    let used = 0
    let lines = 0
    let read = 0
    let checksum = 0
    const stretch = async function* (to: number, upTo: number, from: number): Source {
      const before = lines
      if (checked) checksum = parser.checksum(from, to, checksum)
      lines += yield* parse({
        file: chunk.file,
        format,
        from,
        to,
        bytes: upTo - read,
        linesBefore: async () => before,
        ...(checked && { checksum }),
      })
      read = upTo
    }
    let start = true
    for (;;) {
      // As much as is parsed at a time; more only where a line is longer.
      reserve(used < STREAM_BYTES ? STREAM_BYTES + 1 : used + MORE_BYTES + 1, used, chunk.file)
      const got = await text.read(parser.text.subarray(used, used < STREAM_BYTES ? STREAM_BYTES : used + MORE_BYTES))
      if (got === 0) break
      used += got
      if (used < STREAM_BYTES) continue
      // Cut by the text alone, whatever sizes it comes in: checksums of the same text must be the same.
      const to = endOfStretch(parser.text.subarray(0, used))
      if (to === 0) continue
      yield* stretch(to, text.inputBytes(), start ? afterMark(parser.text) : 0)
      start = false
      parser.text.copyWithin(0, to, used)
      used -= to
    }
    if (used > 0) {
      reserve(used + 1, used, chunk.file)
      parser.text[used] = NEWLINE
      yield* stretch(used + 1, chunk.to, start ? afterMark(parser.text.subarray(0, used)) : 0)
    }
  }

  /** Reads the lines that start in the chunk's range into the parser's text area: [from, to) there, `at` in the file. */
  async function readLines(file: ReadFile, chunk: Chunk) {
    // The byte before tells whether a line starts at the range's first byte.
    const base = Math.max(0, chunk.from - 1)
    const end = chunk.to - base
    reserve(end + OVERRUN + 1, 0, chunk.file)
    let used = await file.read(parser.text.subarray(0, end + OVERRUN), base)
    const text = parser.text.subarray(0, used)
    const from = chunk.from === 0 ? afterMark(text) : indexOrEnd(text, 0) + 1
    if (from >= Math.min(end, used)) return { from: 0, to: 0, at: base }
    let searched = end - 1
    for (;;) {
      const newline = parser.text.subarray(0, used).indexOf(NEWLINE, searched)
      if (newline >= 0) return { from, to: newline + 1, at: base + from }
      searched = used
      reserve(2 * used + 1, used, chunk.file)
      const more = await file.read(parser.text.subarray(used, 2 * used), base + used)
      used += more
      if (more > 0) continue
      parser.text[used] = NEWLINE
      return { from, to: used + 1, at: base + from }
    }
  }
}

interface Stretch {
  readonly file: string
  readonly format: TextFormat
  /** Whole lines in the text area. */
  readonly from: number
  readonly to: number
  readonly bytes: number
  /** Lines of the file before this stretch, asked for only when one is bad. */
  readonly linesBefore: () => Promise<number>
  /** The texts before each line's slots. */
  readonly leading?: readonly (readonly string[])[]
  readonly checksum?: number
}

/** Parts of one stretch of text, as many as the columns need; returns the number of lines. */
async function* parseStretch(
  parser: TextParser,
  slots: readonly Slot[],
  stretch: Stretch,
): AsyncGenerator<SourcePart, number> {
  const { file, format, from, to, leading, checksum } = stretch
  let position = from
  let lines = 0
  let samples = 0
  while (position < to) {
    const result = parser.parse(format, position, to)
    const { counts, starts, signs, dense } = parser
    yield {
      columns: { samples: result.samples, counts, starts, signs, dense },
      bytes: (stretch.bytes * (result.position - position)) / (to - from),
      skipped: result.skipped,
      ignored: parser.takeIgnored(),
      ...(leading && { leading: leading.slice(samples, samples + result.samples) }),
      ...(checksum !== undefined && { checksum }),
    }
    samples += result.samples
    position = result.position
    lines += result.lines
    if (!result.error) continue
    throw badLineError({
      file,
      format,
      slots,
      line: (await stretch.linesBefore()) + lines + 1,
      bytes: parser.text.subarray(position, parser.text.indexOf(NEWLINE, position)),
      error: { ...result.error, position: result.error.position - position },
    })
  }
  return lines
}

/** Behind the last line that ends within STREAM_BYTES, else behind the first line; 0 if no line is whole. */
function endOfStretch(text: Uint8Array): number {
  return text.lastIndexOf(NEWLINE, STREAM_BYTES - 1) + 1 || text.indexOf(NEWLINE, STREAM_BYTES) + 1
}

/** Where text begins behind a byte order mark. */
function afterMark(text: Uint8Array): number {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf ? 3 : 0
}

function indexOrEnd(text: Uint8Array, from: number): number {
  const at = text.indexOf(NEWLINE, from)
  return at < 0 ? text.length : at
}

/** Newlines in the first `end` bytes of a file. */
export async function countLines(file: ReadFile, end: number): Promise<number> {
  const block = Buffer.alloc(CHUNK_BYTES)
  let lines = 0
  for (let position = 0; position < end; position += block.length) {
    const bytes = block.subarray(
      0,
      await file.read(block.subarray(0, Math.min(block.length, end - position)), position),
    )
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines++
  }
  return lines
}

function gunzipped(file: string) {
  let compressed = 0
  const pieces = async function* () {
    try {
      for await (const { data, compressedBytes } of gunzipFile(anyFiles, file)) {
        compressed = compressedBytes
        yield data
      }
    } catch (cause) {
      throw damagedGzip(cause, file)
    }
  }
  return { ...fromPieces(pieces()), inputBytes: () => compressed }
}

/** zlib's error in words; any other as it is. */
export function damagedGzip(cause: unknown, file: string): unknown {
  if (!/^Z_/.test((cause as NodeJS.ErrnoException).code ?? '')) return cause
  return new UserError(`The gzip file is damaged or cut off: ${(cause as Error).message}.`, {
    code: 'DATA_GZIP',
    where: { file },
    hint: `Test it with gzip -t ${file}, then copy or write it again.`,
    cause,
  })
}

function tooLongLine(file: string): UserError {
  return new UserError(`A line is longer than ${MAX_LINE_BYTES / 1024 ** 2} MiB.`, {
    code: 'DATA_LINE',
    where: { file },
    hint: 'Check that the file is text with one sample a line.',
  })
}
