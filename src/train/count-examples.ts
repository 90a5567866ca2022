/** @file How many examples the files have, said before training as static_ps_trainer says it. */
import { open } from 'node:fs/promises'
import { measureFiles } from '../data/index.ts'
import type { EventSink } from '../event/index.ts'

/** More would be felt when a job starts. */
const MAX_BYTES = 64 * 1024 * 1024
const LINE_FEED = 10

/** Lines of plain text, one example each; says nothing of other data, nor where counting would take long. */
export async function tellExamples(files: readonly string[], isText: boolean, emit: EventSink): Promise<void> {
  const bytes = measureFiles(files).reduce((sum, file) => sum + file.bytes, 0)
  if (!isText || bytes > MAX_BYTES || files.some((file) => file.endsWith('.gz'))) return
  let total = 0
  for (const file of files) {
    const examples = await countLines(file)
    total += examples
    emit({ kind: 'notice', message: `File: ${file} has ${examples} examples` })
  }
  emit({ kind: 'notice', message: `Total example: ${total}` })
}

async function countLines(path: string): Promise<number> {
  const file = await open(path)
  const piece = Buffer.allocUnsafe(1024 * 1024)
  let [lines, last] = [0, LINE_FEED]
  try {
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.length)
      if (bytesRead === 0) break
      for (let at = piece.indexOf(LINE_FEED); at >= 0 && at < bytesRead; at = piece.indexOf(LINE_FEED, at + 1)) lines++
      last = piece[bytesRead - 1]!
    }
  } finally {
    await file.close()
  }
  // The last line may have no end.
  return last === LINE_FEED ? lines : lines + 1
}
