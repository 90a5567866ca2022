/** @file How many examples the files have, said before training as static_ps_trainer says it. */
import { measureFiles } from '../data/index.ts'
import type { EventSink } from '../event/index.ts'
import { anyFiles, contentOf } from '../fs/index.ts'

/** More would be felt when a job starts. */
const MAX_BYTES = 64 * 1024 * 1024
const LINE_FEED = 10

/**
 * Lines of plain text, one example each; returns whether it has said how many. Of other data, and where counting would take
 * long, nothing is said before the first pass has read it.
 */
export async function tellExamples(files: readonly string[], isText: boolean, emit: EventSink): Promise<boolean> {
  const bytes = measureFiles(files).reduce((sum, file) => sum + file.bytes, 0)
  if (!isText || bytes > MAX_BYTES || files.some((file) => file.endsWith('.gz'))) return false
  let total = 0
  for (const file of files) {
    const examples = await countLines(file)
    total += examples
    emit({ kind: 'notice', message: `File: ${file} has ${examples} examples` })
  }
  tellTotal(total, emit)
  return true
}

export function tellTotal(examples: number, emit: EventSink): void {
  emit({ kind: 'notice', message: `Total example: ${examples}` })
}

async function countLines(path: string): Promise<number> {
  let [lines, last] = [0, LINE_FEED]
  for await (const piece of contentOf(anyFiles, path)) {
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1)) lines++
    last = piece.at(-1) ?? last
  }
  // The last line may have no end.
  return last === LINE_FEED ? lines : lines + 1
}
