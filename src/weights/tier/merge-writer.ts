/** @file A stream of rows in order of hash as one run. */
import type { RunsMemory } from '../../base/kernel/index.ts'
import type { MergedRows } from './merge.ts'
import type { RunMark } from './run-format.ts'
import { RunWriter, type RunWriterOptions } from './run-writer.ts'

/** Writes `blocks`; an empty stream gives undefined and no file. */
export function writeMerged(
  path: string,
  blocks: Iterable<MergedRows>,
  options: RunWriterOptions,
  memory?: RunsMemory,
): RunMark | undefined {
  const writer = new RunWriter(options, memory)
  const { rowBytes } = options
  // What does not fill a page waits in front of the next block.
  const room = 4096 + writer.perPage
  const at = { signsAt: writer.memory.reserve(8 * room), rowsAt: writer.memory.reserve(rowBytes * room) }
  const signs = new BigUint64Array(writer.memory.buffer, at.signsAt, room)
  const rows = new Uint8Array(writer.memory.buffer, at.rowsAt, rowBytes * room)
  let waiting = 0
  let any = false
  try {
    for (const block of blocks) {
      if (!any) writer.begin(path, options.maxRows)
      any = true
      signs.set(block.signs, waiting)
      rows.set(block.rows, waiting * rowBytes)
      waiting += block.signs.length
      const whole = waiting - (waiting % writer.perPage)
      writer.append(at, whole)
      signs.copyWithin(0, whole, waiting)
      rows.copyWithin(0, whole * rowBytes, waiting * rowBytes)
      waiting -= whole
    }
    if (!any) return undefined
    writer.append(at, waiting)
    return writer.finish()
  } catch (error) {
    writer.abandon()
    throw error
  }
}
