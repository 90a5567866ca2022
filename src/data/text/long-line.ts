/** @file How long a line of data may be: what is longer is no sample, and is refused before memory is taken for it. */
import { UserError } from '../../base/util/index.ts'

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
