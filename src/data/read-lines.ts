/** @file The lines of a text file, for readers of a user's own. */
import { fileURLToPath } from 'node:url'
import { anyFiles, contentOf } from '../fs/index.ts'

/** Lines without their ends, blank ones left out; a path ending in .gz is unpacked, an address of HDFS or S3 is read there. */
export async function* readLines(file: string | URL): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const data of contentOf(anyFiles, typeof file === 'string' ? file : fileURLToPath(file))) {
    const lines = (rest + decoder.decode(data, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) if (line.trim() !== '') yield withoutEnd(line)
  }
  if (rest.trim() !== '') yield withoutEnd(rest)
}

const withoutEnd = (line: string) => (line.endsWith('\r') ? line.slice(0, -1) : line)
