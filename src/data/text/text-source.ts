/** @file Text sources on a reader thread: a byte range of a plain file, a gzip file or a stream, parsed to parts in order. */
import { anyFiles, type ReadFile } from '../../base/fs/index.ts'
import { createTextParser, type TextEncoding, type TextFormat, type TextParser } from '../../base/kernel/index.ts'
import type { Columns, Slot } from '../batch.ts'
import type { ReaderSettings } from '../messages.ts'
import { CHUNK_BYTES, type Chunk } from '../plan.ts'
import type { Sequences } from '../user/rec-dataset.ts'
import { badLineError } from './bad-line.ts'
import { afterMark } from './head.ts'
import { takeLeading } from './leading.ts'
import { MAX_LINE_BYTES, tooLongLine } from './long-line.ts'
import { gunzipped, type TextStream } from './text-stream.ts'

/** Samples parsed from one stretch of a source. Columns are valid until the next part is asked for. */
export interface SourcePart {
  readonly columns: Columns
  /** Bytes of the input (compressed, for gzip) that this part stands for. */
  readonly bytes: number
  /** Bad lines left out. */
  readonly skipped: number
  /** Sequences that a reader cut, and all it read since the part before. */
  readonly sequences?: Readonly<Sequences> | undefined
  /** Names of undeclared slots, each once a thread. */
  readonly ignored: readonly string[]
  /** The texts before each sample's slots, where the data has them. */
  readonly leading?: readonly (readonly string[])[] | undefined
  /** Over the source's text up to the end of this part, or a little beyond. */
  readonly checksum?: number | undefined
}

export type Source = AsyncGenerator<SourcePart, void>

export interface TextSources {
  range(chunk: Chunk, format: TextFormat): Source
  gzip(chunk: Chunk, format: TextFormat): Source
  /** Text that comes bit by bit, such as a pipe's; its parts carry checksums if asked. */
  stream(chunk: Chunk, format: TextFormat, text: TextStream, checked?: boolean): Source
}

export interface TextSettings extends Pick<ReaderSettings, 'slots' | 'onBadLine' | 'leadingFields' | 'padding'> {
  /** What becomes of the slots, which are raw ones then. */
  readonly encoding?: TextEncoding | undefined
}

const NEWLINE = 10
/** Text of a stream that is parsed at a time. */
const STREAM_BYTES = CHUNK_BYTES - 256 * 1024
/** Read beyond that at a time, until a line ends. */
const MORE_BYTES = 256 * 1024
/** Read beyond a range's end, where its last line mostly ends. */
const OVERRUN = 8 * 1024
/** A line of the largest size, and the lines before it that are parsed with it. */
const MAX_AREA_BYTES = MAX_LINE_BYTES + 2 * CHUNK_BYTES

/** Sources that share one parser: one source is read at a time. */
export function createTextSources(settings: TextSettings): TextSources {
  const area = createTextArea(settings)
  return {
    range: (chunk, format) => readRange(area, chunk, format),
    gzip: (chunk, format) => readGzip(area, chunk, format),
    stream: (chunk, format, text, checked = false) => readStream(area, chunk, { format, text, checked }),
  }
}

/** Where text is read into and parsed in place; it grows for long lines. */
interface TextArea {
  readonly parser: TextParser
  readonly slots: readonly Slot[]
  /** Texts before the slots of a line of MultiSlot text. */
  readonly leadingFields: number
  /** Makes room for `bytes` of text, keeping the first `used`. */
  reserve(bytes: number, used: number, file: string): void
}

function createTextArea({ slots, onBadLine, leadingFields = 0, padding = 0, encoding }: TextSettings): TextArea {
  // A line left out would give its instance id to the next one.
  const skipBad = onBadLine === 'skip' && leadingFields === 0
  const parserFor = (bytes: number) => createTextParser(slots, bytes, { skipBad, padding, encoding })
  let parser = parserFor(CHUNK_BYTES + 2 * OVERRUN)
  return {
    get parser() {
      return parser
    },
    slots,
    leadingFields,
    reserve: (bytes, used, file) => {
      if (bytes <= parser.capacity) return
      if (bytes > MAX_AREA_BYTES) throw tooLongLine(file, undefined)
      const larger = parserFor(Math.min(Math.max(bytes, 2 * parser.capacity), MAX_AREA_BYTES))
      larger.text.set(parser.text.subarray(0, used))
      parser = larger
    },
  }
}

async function* readRange(area: TextArea, chunk: Chunk, format: TextFormat): Source {
  const file = await anyFiles.open(chunk.file)
  try {
    const { from, to, at } = await readLines(area, file, chunk)
    const bytes = chunk.to - chunk.from
    yield* parse(area, { file: chunk.file, format, from, to, bytes, linesBefore: () => countLines(file, at) })
  } finally {
    await file.close()
  }
}

/** Reads the lines that start in the chunk's range into the text area: [from, to) there, `at` in the file. */
async function readLines(area: TextArea, file: ReadFile, chunk: Chunk) {
  // The byte before shows whether a line starts at the range's first byte.
  const base = Math.max(0, chunk.from - 1)
  const end = chunk.to - base
  area.reserve(end + OVERRUN + 1, 0, chunk.file)
  let used = await file.read(area.parser.text.subarray(0, end + OVERRUN), base)
  const text = area.parser.text.subarray(0, used)
  const from = chunk.from === 0 ? afterMark(text) : indexOrEnd(text, 0) + 1
  if (from >= Math.min(end, used)) return { from: 0, to: 0, at: base }
  let searched = end - 1
  for (;;) {
    const newline = area.parser.text.subarray(0, used).indexOf(NEWLINE, searched)
    if (newline >= 0) return { from, to: newline + 1, at: base + from }
    searched = used
    const room = Math.min(2 * used, MAX_AREA_BYTES - 1)
    if (room <= used) {
      const start = area.parser.text.lastIndexOf(NEWLINE, used - 1) + 1
      throw tooLongLine(chunk.file, (await countLines(file, base + start)) + 1)
    }
    area.reserve(room + 1, used, chunk.file)
    const more = await file.read(area.parser.text.subarray(used, room), base + used)
    used += more
    if (more > 0) continue
    area.parser.text[used] = NEWLINE
    return { from, to: used + 1, at: base + from }
  }
}

async function* readGzip(area: TextArea, chunk: Chunk, format: TextFormat): Source {
  const text = gunzipped(chunk.file)
  try {
    yield* readStream(area, chunk, { format, text, checked: false })
  } finally {
    await text.leave()
  }
}

interface StreamOptions {
  readonly format: TextFormat
  readonly text: TextStream
  /** Parts carry checksums. */
  readonly checked: boolean
}

async function* readStream(area: TextArea, chunk: Chunk, { format, text, checked }: StreamOptions): Source {
  let used = 0
  let lines = 0
  let read = 0
  let checksum: number | undefined
  let start = true
  const stretch = async function* (to: number, upTo: number): Source {
    const before = lines
    const from = start ? afterMark(area.parser.text.subarray(0, used)) : 0
    if (checked) checksum = area.parser.checksum(from, to, checksum ?? 0)
    const bytes = upTo - read
    const linesBefore = async () => before
    lines += yield* parse(area, { file: chunk.file, format, from, to, bytes, linesBefore, checksum })
    read = upTo
    start = false
  }
  for (;;) {
    // As much as is parsed at a time; more only where a line is longer.
    const room = used < STREAM_BYTES ? STREAM_BYTES : used + MORE_BYTES
    if (room > MAX_LINE_BYTES) throw tooLongLine(chunk.file, lines + 1)
    area.reserve(room + 1, used, chunk.file)
    const got = await text.read(area.parser.text.subarray(used, room))
    if (got === 0) break
    used += got
    if (used < STREAM_BYTES) continue
    // Cut by the text alone, whatever sizes it comes in: checksums of the same text must be the same.
    const to = endOfStretch(area.parser.text.subarray(0, used))
    if (to === 0) continue
    yield* stretch(to, text.inputBytes())
    area.parser.text.copyWithin(0, to, used)
    used -= to
  }
  if (used > 0) {
    area.reserve(used + 1, used, chunk.file)
    area.parser.text[used] = NEWLINE
    yield* stretch(used + 1, chunk.to)
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
  readonly checksum?: number | undefined
}

/** Parts of one stretch of text, as many as the columns need; returns the number of lines. */
async function* parse(area: TextArea, stretch: Stretch): AsyncGenerator<SourcePart, number> {
  const { file, format, from, to, checksum } = stretch
  const { parser, slots, leadingFields } = area
  const taken = leadingFields > 0 && format === 'multislot'
  const leading = taken ? takeLeading(parser.text, from, to, leadingFields) : undefined
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
      leading: leading?.slice(samples, samples + result.samples),
      checksum,
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
