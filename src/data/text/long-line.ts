/** @file How long a line of data may be: what is longer is no sample, and is refused before memory is taken for it. */
import { UserError } from '../../base/util/index.ts'
import { afterMark } from './head.ts'

/** Two million values, a hundred thousand times what samples of models that ship have. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024

export function tooLongLine(file: string, line: number | undefined): UserError {
  return new UserError(`This line is longer than ${MAX_LINE_BYTES / 1024 ** 2} MiB, which no sample is.`, {
    code: 'DATA_LINE',
    where: { file, line },
    hint: 'Check that the file is text with one sample a line.',
  })
}

/** The lines of a text that comes in pieces, without their ends. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let number = 0
  let rest: string[] = [] // of a line that has not ended; joined once, whatever its length
  let length = 0
  for await (const piece of pieces) {
    const [first = '', ...lines] = decoder.decode(piece, { stream: true }).split('\n')
    rest.push(first)
    length += first.length
    if (length > MAX_LINE_BYTES) throw tooLongLine(file, number + 1)
    for (const next of lines) {
      number++
      yield rest.join('').replace(/\r$/, '')
      rest = [next]
      length = next.length
    }
  }
  const last = rest.join('')
  if (last !== '') yield last.replace(/\r$/, '')
}

/** The same as bytes, many lines at once with their ends; `first` is the number of the first. */
export async function* wholeLines(
  pieces: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<{ readonly bytes: Buffer; readonly first: number }> {
  let first = 1
  let rest: Uint8Array[] = [] // of a line that has not ended
  let length = 0
  let isBegun = false
  for await (const all of pieces) {
    const piece = isBegun ? all : all.subarray(afterMark(all))
    isBegun = true
    const end = piece.lastIndexOf(NEWLINE) + 1
    length += end > 0 ? piece.indexOf(NEWLINE) : piece.length
    if (length > MAX_LINE_BYTES) throw tooLongLine(file, first)
    if (end > 0) {
      const bytes = Buffer.concat([...rest, piece.subarray(0, end)])
      yield { bytes, first }
      for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) first++
      rest = []
      length = piece.length - end
    }
    rest.push(Uint8Array.from(piece.subarray(end))) // whoever gives pieces may use their memory again
  }
  const last = Buffer.concat(rest)
  if (last.length > 0) yield { bytes: last, first }
}

const NEWLINE = 10
