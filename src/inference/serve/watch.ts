/** @file Looks for a newer export now and then. Polling works on every file system, network ones too. */
import { type FoundExport, findExport } from '../export/index.ts'

export interface WatchOptions {
  readonly path: string
  /** The mark of the export that is served already. */
  readonly mark: string
  readonly intervalMs: number
  /** A new export; awaited before the next look. */
  readonly onNew: (found: FoundExport) => Promise<void>
}

/** Calls `onNew` once for each export that appears; returns how to stop, which waits for a call under way. */
export function watchExport({ path, mark, intervalMs, onNew }: WatchOptions): () => Promise<void> {
  let [seen, stopped] = [mark, false]
  let looking: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const look = async () => {
    // A folder that is being replaced is missing for a moment: the next look sees it.
    const found = await findExport(path).catch(() => undefined)
    if (found && found.mark !== seen && !stopped) {
      seen = found.mark
      await onNew(found)
    }
  }
  const plan = () => {
    if (stopped) return
    timer = setTimeout(() => {
      looking = look().finally(plan)
    }, intervalMs).unref()
  }
  plan()
  return async () => {
    stopped = true
    clearTimeout(timer)
    await looking
  }
}
