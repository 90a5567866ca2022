/** @file What must be known of text before it is read, seen from its beginning: format, names of slots, byte order mark. */
import { anyFiles, contentOf } from '../../base/fs/index.ts'
import type { TextFormat } from '../../base/kernel/index.ts'
import type { Slot } from '../batch.ts'

export interface DataHead {
  readonly file: string
  /** Whole lines that are not blank, numbered from 1. */
  readonly lines: readonly { readonly number: number; readonly text: string }[]
}

const HEAD_BYTES = 64 * 1024

/** The format of the first file that has a line; slot text where none has. A damaged file is left to its reader. */
export async function detectFormat(files: readonly string[]): Promise<TextFormat> {
  const head = await readHead(files, HEAD_BYTES)
  return head ? looksLike(head.lines[0]!.text) : 'slot'
}

/** Lines of the first file that has one, at most `bytes` of them; none of a file that cannot be read: its reader will say why. */
export async function readHead(files: readonly string[], bytes = HEAD_BYTES): Promise<DataHead | undefined> {
  for (const file of files) {
    const lines = linesOf(await firstBytes(file, bytes).catch(() => new Uint8Array()), bytes)
    if (lines.length > 0) return { file, lines }
  }
  return undefined
}

/** The first lines of a text that begins so. */
export function headOf(file: string, text: Uint8Array): DataHead {
  return { file, lines: linesOf(text.subarray(0, HEAD_BYTES), HEAD_BYTES) }
}

/** Of a file cut off at `limit` the last line is not whole, unless it is the only one. */
function linesOf(data: Uint8Array, limit: number): DataHead['lines'] {
  const texts = new TextDecoder().decode(data).split('\n')
  if (data.length >= limit && texts.length > 1) texts.pop()
  return texts.map((text, i) => ({ number: i + 1, text })).filter(({ text }) => text.trim() !== '')
}

async function firstBytes(path: string, bytes: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(bytes)
  let used = 0
  for await (const data of contentOf(anyFiles, path)) {
    const part = data.subarray(0, bytes - used)
    buffer.set(part, used)
    used += part.length
    if (used === bytes) break
  }
  return buffer.subarray(0, used)
}

/** The slots under the names that the first lines of slot text have; those that they do not have keep their own. */
export function namedAsData(slots: readonly Slot[], head: DataHead | undefined): readonly Slot[] {
  if (!head || !slots.some((slot) => slot.kind === 'dense' && slot.aliases)) return slots
  const names = new Set(head.lines.flatMap(({ text }) => text.split(/\s+/).map((item) => item.split(':', 1)[0]!)))
  return slots.map((slot) => {
    if (slot.kind !== 'dense' || names.has(slot.name)) return slot
    const name = slot.aliases?.find((alias) => names.has(alias))
    return name === undefined ? slot : { ...slot, name }
  })
}

/** The format of a text, by its first line that is not empty. */
export function formatOf(text: Uint8Array): TextFormat {
  const start = new TextDecoder().decode(text.subarray(0, 4096)).split('\n')
  return looksLike(start.find((line) => line.trim() !== '') ?? ':')
}

/** The format a line seems to have. */
export function looksLike(line: string): TextFormat {
  return /^\s*\S*:/.test(line) ? 'slot' : 'multislot'
}

/** Where text begins behind a byte order mark. */
export function afterMark(text: Uint8Array): number {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf ? 3 : 0
}
