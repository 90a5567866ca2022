/** @file What nodes that are driven from elsewhere have in common: their folders, logs that are printed as they grow, and that nothing stays behind. */
import { rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { EventSink } from '../../base/event/index.ts'
import type { Job } from '../submit/index.ts'
import { type LogSelection, type LogSizes, taggedLines } from './logs.ts'

export function nodeFolders(folder: string, node: number) {
  const root = join(folder, `node-${node}`)
  return { root, work: join(root, 'work'), logs: join(root, 'logs') }
}

/** Does the work while its logs are printed. */
export async function printing<T>(
  logs: string,
  selection: LogSelection,
  print: (line: string) => void,
  work: () => Promise<T>,
  from?: LogSizes,
): Promise<T> {
  let over = false
  const printed = printAll(
    taggedLines(logs, selection, () => over, { from }),
    print,
  )
  try {
    return await work()
  } finally {
    over = true
    await printed
  }
}

async function printAll(lines: AsyncIterable<string>, print: (line: string) => void): Promise<void> {
  for await (const line of lines) print(line)
}

/** Nothing stays on a node whose output was collected; where there is no place for it, it stays, and where is said. */
export function removeWork(root: string, { data }: Job, emit: EventSink): void {
  if (data.fileSystem !== undefined && data.output !== undefined) {
    rmSync(root, { recursive: true, force: true })
    try {
      rmdirSync(dirname(root))
    } catch {
      // Another node of the job is on this host.
    }
  } else emit({ kind: 'notice', message: `there is no output_path: what the job wrote stays in ${root}` })
}
