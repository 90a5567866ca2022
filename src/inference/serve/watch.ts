/** @file Looks for a newer export or index now and then. Polling works on every file system, network ones too. */
/** Where something lies, and a mark that changes when it is replaced. */
export interface FoundFolder {
  readonly folder: string
  readonly mark: string
}

export interface WatchOptions {
  readonly find: () => Promise<FoundFolder | undefined>
  /** The mark of the one that is served already. */
  readonly mark: string
  readonly intervalMs: number
  /** A new one; awaited before the next look. */
  readonly onNew: (found: FoundFolder) => Promise<void>
}

/** Calls `onNew` once for each that appears; returns how to stop, which waits for a call under way. */
export function watchFolder({ find, mark, intervalMs, onNew }: WatchOptions): () => Promise<void> {
  let [seen, stopped] = [mark, false]
  let looking: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const look = async () => {
    // A folder that is being replaced is missing for a moment: the next look sees it.
    const found = await find().catch(() => undefined)
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
