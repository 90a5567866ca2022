/** @file The lines of a text file, for readers of a user's own. */
import { fileURLToPath } from 'node:url'
import { gunzipFile, localFiles } from '../fs/index.ts'

const READ_BYTES = 256 * 1024

/** Lines without their ends, blank ones left out; a path ending in .gz is unpacked. */
export async function* readLines(file: string | URL): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const data of pieces(typeof file === 'string' ? file : fileURLToPath(file))) {
    const lines = (rest + decoder.decode(data, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) if (line.trim() !== '') yield withoutEnd(line)
  }
  if (rest.trim() !== '') yield withoutEnd(rest)
}

const withoutEnd = (line: string) => (line.endsWith('\r') ? line.slice(0, -1) : line)

async function* pieces(path: string): AsyncGenerator<Uint8Array> {
  if (path.endsWith('.gz')) {
    for await (const { data } of gunzipFile(localFiles, path)) yield data
    return
  }
  const file = await localFiles.open(path)
  const buffer = new Uint8Array(READ_BYTES)
  try {
    for (let position = 0; position < file.bytes; ) {
      const bytes = await file.read(buffer, position)
      if (bytes === 0) return
      position += bytes
      yield buffer.subarray(0, bytes)
    }
  } finally {
    await file.close()
  }
}
