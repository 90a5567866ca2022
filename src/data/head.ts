/** @file The first lines of a data file, for what must be known before it is read. */
import { anyFiles, contentOf } from '../fs/index.ts'

export interface DataHead {
  readonly file: string
  /** Whole lines that are not blank, numbered from 1. */
  readonly lines: readonly { readonly number: number; readonly text: string }[]
}

/** Lines of the first file that has one, at most `bytes` of them; none of a file that cannot be read: its reader will say why. */
export async function readHead(files: readonly string[], bytes: number): Promise<DataHead | undefined> {
  for (const file of files) {
    const lines = linesOf(await firstBytes(file, bytes).catch(() => new Uint8Array()), bytes)
    if (lines.length > 0) return { file, lines }
  }
  return undefined
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
