/** @file The instance id and the content before the slots of a MultiSlot line (`1 a7 1 text 1 0 ...`): taken out before the line is parsed. */

const NEWLINE = 10
const SPACE = 32

/**
 * Replaces the first `fields` pairs `1 text` of each line in [from, to) by spaces, so that positions in errors stay right;
 * returns the texts of each line that is not empty. A line without them is left alone: the parser says what is wrong with it.
 */
export function takeLeading(
  text: Uint8Array,
  from: number,
  to: number,
  fields: number,
): readonly (readonly string[])[] {
  const decoder = new TextDecoder()
  const all: string[][] = []
  for (let line = from; line < to; ) {
    const newline = text.indexOf(NEWLINE, line)
    const end = newline < 0 || newline > to ? to : newline
    const taken: string[] = []
    let at = skipSpace(text, line, end)
    if (at < end) {
      for (let field = 0; field < fields; field++) {
        const count = wordEnd(text, at, end)
        const start = skipSpace(text, count, end)
        const stop = wordEnd(text, start, end)
        if (count !== at + 1 || text[at] !== 0x31 || stop === start) break
        taken.push(decoder.decode(text.slice(start, stop)))
        text.fill(SPACE, at, stop)
        at = skipSpace(text, stop, end)
      }
      all.push(taken)
    }
    line = end + 1
  }
  return all
}

const isSpace = (byte: number) => byte === SPACE || byte === 9 || byte === 13

function skipSpace(text: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && isSpace(text[at]!)) at++
  return at
}

function wordEnd(text: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && !isSpace(text[at]!)) at++
  return at
}
