/** @file Text that is already in memory, a request or a piece of a pipe, parsed by the kernel that parses files. */
import { createTextParser, type TextFormat } from '../../base/kernel/index.ts'
import type { Columns, Slot } from '../batch.ts'
import { joinColumns, sliceColumns } from '../columns.ts'
import { textSlots } from '../features/columns.ts'
import { textEncoding } from '../features/text-encoding.ts'
import { badLineError } from './bad-line.ts'
import { afterMark, formatOf } from './head.ts'

export interface TextBlock {
  readonly text: Uint8Array
  /** @default 'auto': by the first line */
  readonly format?: 'auto' | TextFormat | undefined
  /** What an error calls the text. */
  readonly file: string
  /** Lines before this block. @default 0 */
  readonly linesBefore?: number | undefined
}

/** Parses one block after another; the last line may lack its newline. Columns are the caller's to keep. */
export type TextBlockParser = (block: TextBlock) => Columns

const NEWLINE = 10
const FIRST_CAPACITY = 64 * 1024

export function createTextBlockParser(all: readonly Slot[]): TextBlockParser {
  const [slots, encoding] = [textSlots(all), textEncoding(all)]
  const parserFor = (bytes: number) => createTextParser(slots, bytes, { encoding })
  let parser = parserFor(FIRST_CAPACITY)
  return ({ text, format = 'auto', file, linesBefore = 0 }) => {
    if (text.length + 1 > parser.capacity) parser = parserFor(2 * (text.length + 1))
    parser.text.set(text)
    parser.text[text.length] = NEWLINE
    const end = text.length + 1
    const known = format === 'auto' ? formatOf(text) : format
    const parts: Columns[] = []
    for (let [position, lines] = [afterMark(text), linesBefore]; position < end; ) {
      const result = parser.parse(known, position, end)
      if (result.error) {
        const { position: start } = result
        throw badLineError({
          file,
          format: known,
          slots,
          line: lines + result.lines + 1,
          bytes: parser.text.subarray(start, parser.text.indexOf(NEWLINE, start)),
          error: { ...result.error, position: result.error.position - start },
        })
      }
      parts.push(sliceColumns(all, { ...parser, samples: result.samples }, 0, result.samples))
      position = result.position
      lines += result.lines
    }
    return joinColumns(all, parts)
  }
}
