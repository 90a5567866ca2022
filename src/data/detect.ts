/** @file Which text format the data has, seen from its first line. */
import type { TextFormat } from '../kernel/index.ts'
import { looksLike } from './bad-line.ts'
import { readHead } from './head.ts'

const HEAD_BYTES = 64 * 1024

/** The format of the first file that has a line; slot text where none has. A damaged file is left to its reader. */
export async function detectFormat(files: readonly string[]): Promise<TextFormat> {
  const head = await readHead(files, HEAD_BYTES)
  return head ? looksLike(head.lines[0]!.text) : 'slot'
}
