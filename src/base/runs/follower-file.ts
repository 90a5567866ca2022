/**
 * @file How far a server is that follows a trainer's versions: a small file of its own beside those versions, replaced whole. Who draws the trainer's run
 * finds all that follow it there, without asking anybody.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadFile } from './read-plain.ts'
import { readJson, replaceFile } from './status-file.ts'

export const FOLLOWERS_FOLDER = 'followers'

/** A version that was taken up while it was followed, and how long that was after it had been published. */
export interface TakenVersion {
  readonly sequence: number
  readonly at: number
  readonly lagSeconds: number
}

export interface FollowerStatus {
  /** Host and port: a server that is started again has the same. */
  readonly name: string
  readonly updatedAt: number
  readonly version: string
  readonly sequence: number
  /** Since the oldest version was published that it does not serve yet. */
  readonly lagSeconds: number
  readonly rowsApplied: number
  readonly pinned: string | null
  readonly waiting: string | null
  /** The newest of them, oldest first. */
  readonly taken: readonly TakenVersion[]
}

/** A state that does not change is written again so often: who is silent for longer is gone. */
const BEAT_MS = 5000
/** What a killed server left goes when another begins. */
const FORGET_MS = 24 * 3600 * 1000
const MOST_FOLLOWERS = 200

export interface FollowerNote {
  note(status: Omit<FollowerStatus, 'name' | 'updatedAt'>): void
  /** It follows no more: the file goes. */
  close(): void
}

/** A folder that cannot be written to is no fault: servers may follow what they can only read, and are not seen then. */
export function openFollowerNote(folder: string, name: string): FollowerNote {
  const own = join(folder, `${name.replaceAll(/[^\w.-]/g, '-')}.json`)
  let [isWritten, known, at] = [true, '', Number.NEGATIVE_INFINITY]
  const attempt = (work: () => void) => {
    if (!isWritten) return
    try {
      work()
    } catch {
      isWritten = false
    }
  }
  attempt(() => {
    mkdirSync(folder, { recursive: true })
    for (const { file, status } of statusesIn(folder))
      if (Date.now() - status.updatedAt > FORGET_MS) rmSync(file, { force: true })
  })
  return {
    note: (status) =>
      attempt(() => {
        const { lagSeconds, taken, ...place } = status
        // A lag grows by itself: that alone is told with the next beat.
        const text = JSON.stringify([place, lagSeconds > 0, taken.at(-1)])
        if (text === known && performance.now() - at < BEAT_MS) return
        known = text
        at = performance.now()
        const shown = { name, updatedAt: Date.now(), ...status }
        replaceFile(own, `${JSON.stringify(shown satisfies FollowerStatus)}\n`)
      }),
    close: () => attempt(() => rmSync(own, { force: true })),
  }
}

/** Those that follow what is published in a folder; files that are none of theirs, or damaged, are passed over. */
export function readFollowers(root: string, read?: ReadFile): readonly FollowerStatus[] {
  return statusesIn(join(root, FOLLOWERS_FOLDER), read).map(({ status }) => status)
}

function statusesIn(folder: string, read?: ReadFile) {
  return namesIn(folder).flatMap((name) => {
    const file = join(folder, name)
    const status = readJson(file, read)
    return isStatus(status) ? [{ file, status }] : []
  })
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^[\w.-]+\.json$/.test(name))
      .sort()
      .slice(0, MOST_FOLLOWERS)
  } catch {
    return []
  }
}

function isStatus(value: unknown): value is FollowerStatus {
  const { name, version, updatedAt, sequence, lagSeconds, rowsApplied, pinned, waiting, taken } = (value ??
    {}) as Partial<FollowerStatus>
  const areNumbers = [updatedAt, sequence, lagSeconds, rowsApplied].every(Number.isFinite)
  const areTexts = [name, version, pinned ?? '', waiting ?? ''].every((one) => typeof one === 'string')
  return areNumbers && areTexts && Array.isArray(taken) && taken.every(isTaken)
}

const isTaken = (value: unknown) => {
  const { sequence, at, lagSeconds } = (value ?? {}) as Partial<TakenVersion>
  return [sequence, at, lagSeconds].every(Number.isFinite)
}
