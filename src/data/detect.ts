/** @file Which text format the data has, seen from its first line. */
import { gunzipFile, localFiles } from '../fs/index.ts'
import type { TextFormat } from '../kernel/index.ts'
import { looksLike } from './bad-line.ts'

const HEAD_BYTES = 64 * 1024

/** The format of the first file that has a line; slot text where none has. A damaged file is left to its reader. */
export async function detectFormat(files: readonly string[]): Promise<TextFormat> {
  for (const file of files) {
    const line = new TextDecoder()
      .decode(await head(file).catch(() => new Uint8Array()))
      .split('\n')
      .find((text) => text.trim() !== '')
    if (line) return looksLike(line)
  }
  return 'slot'
}

async function head(path: string): Promise<Uint8Array> {
  if (path.endsWith('.gz')) {
    for await (const { data } of gunzipFile(localFiles, path)) return data.subarray(0, HEAD_BYTES)
    return new Uint8Array()
  }
  const file = await localFiles.open(path)
  try {
    const bytes = new Uint8Array(Math.min(HEAD_BYTES, file.bytes))
    return bytes.subarray(0, await file.read(bytes, 0))
  } finally {
    await file.close()
  }
}
