/** @file One writer a folder: a lock file that says whose it is, taken over from owners that are gone, with a number that tells a later owner from an earlier one. */
import { randomBytes } from 'node:crypto'
import { linkSync, lstatSync, rmSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning, processPlace, processStart, UserError } from '../util/index.ts'
import { readNote } from './small-text.ts'

/** A folder may hold checkpoints and logs: each has a lock of its own. */
export const LOCK_FILES = { model: '.oarfish-model-lock', log: '.oarfish-log-lock' } as const
export type LockKind = keyof typeof LOCK_FILES

export interface FolderOwner {
  readonly pid: number
  /** Of the process, with which its number names it for ever. */
  readonly start?: string | undefined
  readonly host: string
  /** Where process numbers mean the same. */
  readonly place: string
  readonly job?: string | undefined
  readonly command?: string | undefined
  readonly since: string
  /** Larger than that of every owner before. */
  readonly fence: number
}

export interface HoldOptions {
  /** Which job asks. */
  readonly job?: string | undefined
  /** What the owner runs, for whoever is refused. */
  readonly command?: string | undefined
  /** Processes of the same job may write here too: nothing is locked then. @default false: this one takes the place of one on another host */
  readonly isShared?: boolean | undefined
  /** Told when it takes a minute to see whether an owner on another host still runs. */
  readonly onWait?: ((message: string) => void) | undefined
  readonly kind: LockKind
  /** The fence must be larger than this too, which the clock of this host may not be. @default 0 */
  readonly after?: number | undefined
  /** The lock lies beside the folder, which is replaced as a whole. @default false: in it */
  readonly isBeside?: boolean | undefined
  /** The setting that named the folder, and how to name another. */
  readonly key: string
  readonly hint: string
}

export interface FolderLock {
  readonly fence: number
  /** Throws where another has taken over since: what this process would write now would destroy what that one wrote. */
  check(): void
  release(): void
}

const BEAT_MS = 10_000
/** An owner on another host that does not touch its lock while it is watched for so long is taken for dead. */
export const SILENT_MS = 60_000
/** One that has not touched it for so long, whatever the clocks of the hosts show, is not watched. */
const LONG_SILENT_MS = 10 * 60_000
const GUARD_MS = 3_000 // taking over takes milliseconds; whoever holds the guard for longer was killed
const WAIT_MS = 50

/** Rejects with FOLDER_BUSY where another writes there; the folder that the lock lies in must exist. */
export async function holdFolder(folder: string, options: HoldOptions): Promise<FolderLock> {
  const path = options.isBeside
    ? join(dirname(folder), `.${basename(folder)}${LOCK_FILES[options.kind]}`)
    : join(folder, LOCK_FILES[options.kind])
  for (let attempt = 0; ; attempt++) {
    const before = readOwner(path)
    const held = before === undefined ? claim(path, options, options.after ?? 0) : undefined
    if (held) return held
    const owner = readOwner(path)
    if (owner === undefined && attempt < ATTEMPTS) continue
    if (owner !== 'damaged' && owner !== undefined && (await isAlive(path, owner, options))) {
      if (options.isShared && owner.job !== undefined && owner.job === options.job) return sharedLock(owner)
      throw busy(path, owner, options)
    }
    const taken = await takeOver(path, owner, options)
    if (taken) return taken
    if (attempt >= ATTEMPTS) throw busy(path, owner, options)
    await sleep(WAIT_MS)
  }
}

const ATTEMPTS = 100

/** What a lock is for: the folder it lies in, or one beside it that its name begins with. */
function lockedBy(path: string): string {
  const kind = Object.values(LOCK_FILES).find((name) => path.endsWith(name))!
  return join(dirname(path), basename(path).slice(1, -kind.length))
}

/** Who writes in a folder now, or did so last; undefined: nobody. */
export function folderOwner(folder: string, kind: LockKind): FolderOwner | undefined {
  const owner = readOwner(join(folder, LOCK_FILES[kind]))
  return owner === 'damaged' ? undefined : owner
}

function readOwner(path: string): FolderOwner | 'damaged' | undefined {
  try {
    const owner = JSON.parse(readNote(path)) as FolderOwner | null
    const { pid, fence, place, host, since } = owner ?? {}
    const isWhole = Number.isInteger(pid) && Number.isInteger(fence) && [place, host, since].every(isText)
    return isWhole ? owner! : 'damaged'
  } catch {
    return lstatSync(path, { throwIfNoEntry: false }) ? 'damaged' : undefined
  }
}

const isText = (value: unknown) => typeof value === 'string'

async function isAlive(path: string, owner: FolderOwner, options: HoldOptions): Promise<boolean> {
  const { pid, start, place, job } = owner
  if (place === processPlace()) return start === undefined ? isRunning(pid) : processStart(pid) === start
  // Its host cannot be asked. Of one job the launcher starts one writer: it was moved here, and the earlier one is fenced off.
  if (job !== undefined && job === options.job) return options.isShared ?? false
  const first = beatOf(path)
  if (Date.now() - first > LONG_SILENT_MS) return false
  options.onWait?.(
    `${options.key}: ${lockedBy(path)} is locked by ${describe(owner)}; it is watched for ${SILENT_MS / 1000} s to see whether it still runs.`,
  )
  for (const until = Date.now() + SILENT_MS; Date.now() < until; await sleep(WATCH_MS)) {
    if (beatOf(path) !== first) return readOwner(path) !== undefined
  }
  return false
}

const WATCH_MS = 500
const beatOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Undefined where another was first. */
function claim(path: string, { job, command }: HoldOptions, after: number): FolderLock | undefined {
  const owner: FolderOwner = {
    pid: process.pid,
    start: processStart(process.pid),
    host: hostname(),
    place: processPlace(),
    job,
    command,
    since: new Date().toISOString(),
    // By the clock, so that it grows also where the folder was free in between.
    fence: Math.max(Date.now(), after + 1),
  }
  const text = `${JSON.stringify(owner, undefined, 2)}\n`
  return placed(path, text) ? heldLock(path, owner) : undefined
}

/** Makes a file with its whole content, unless there is one: written aside first, so that whoever sees it sees whose it is. */
function placed(path: string, text: string): boolean {
  const aside = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(aside, text, { flag: 'wx', mode: 0o644 })
    linkSync(aside, path)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (!NO_LINKS.has(code)) throw error
    return created(path, text)
  } finally {
    rmSync(aside, { force: true })
  }
}

/** File systems without hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function created(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** One at a time looks again and replaces: between a look and a removal nobody else can have become the owner. */
async function takeOver(
  path: string,
  seen: FolderOwner | 'damaged' | undefined,
  options: HoldOptions,
): Promise<FolderLock | undefined> {
  const guard = `${path}.takeover`
  if (!openGuard(guard)) return undefined
  try {
    const owner = readOwner(path)
    if (JSON.stringify(owner) !== JSON.stringify(seen)) return undefined
    const fence = owner === undefined || owner === 'damaged' ? 0 : owner.fence
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) throw busy(path, owner, options)
    rmSync(path, { force: true })
    return claim(path, options, fence)
  } finally {
    rmSync(guard, { force: true })
  }
}

function openGuard(guard: string): boolean {
  if (placed(guard, guardText(process.pid))) return true
  if (isAbandoned(guard)) rmSync(guard, { force: true })
  return false
}

const guardText = (pid: number) => `${pid} ${processStart(pid)} ${processPlace()}`

/** Its owner was killed: known at once of a process here, else by how long ago it was. */
function isAbandoned(guard: string): boolean {
  try {
    const text = readNote(guard)
    const pid = Number.parseInt(text, 10)
    if (text.endsWith(` ${processPlace()}`)) return !isRunning(pid) || guardText(pid) !== text
    return Math.abs(Date.now() - statSync(guard).mtimeMs) > GUARD_MS
  } catch {
    // Where it is gone the next attempt tells. What is no plain file was never a guard.
    const stats = lstatSync(guard, { throwIfNoEntry: false })
    return stats !== undefined && !stats.isFile() && !stats.isDirectory()
  }
}

function heldLock(path: string, own: FolderOwner): FolderLock {
  const isOwn = () => {
    const owner = readOwner(path)
    return owner !== undefined && owner !== 'damaged' && owner.fence === own.fence && owner.pid === own.pid
  }
  const beat = setInterval(() => {
    try {
      if (isOwn()) utimesSync(path, new Date(), new Date())
    } catch {
      // The next beat, or the check before a save, tells.
    }
  }, BEAT_MS).unref()
  const release = () => {
    clearInterval(beat)
    releases.delete(release)
    if (releases.size === 0) process.off('exit', releaseAll)
    try {
      if (isOwn()) unlinkSync(path)
    } catch {
      // The folder is gone, and the lock with it.
    }
  }
  if (releases.size === 0) process.once('exit', releaseAll)
  releases.add(release)
  return {
    fence: own.fence,
    check: () => {
      if (!isOwn()) throw lost(path, readOwner(path))
    },
    release,
  }
}

/** Of the locks that this process holds: one listener for all, since a program may own many folders. */
const releases = new Set<() => void>()
function releaseAll(): void {
  for (const release of [...releases]) release()
}

/** Of a process whose job holds the folder from another one. */
const sharedLock = ({ fence }: FolderOwner): FolderLock => ({
  fence,
  check: () => undefined,
  release: () => undefined,
})

function describe(owner: FolderOwner | 'damaged' | undefined): string {
  if (owner === undefined || owner === 'damaged') return `somebody whose lock cannot be read`
  const { pid, host, command, job, since } = owner
  const what = [command, job === undefined ? undefined : `job ${job}`].filter((part) => part !== undefined)
  return `process ${pid} on ${host}${what.length > 0 ? ` (${what.join(', ')})` : ''} since ${since}`
}

function busy(path: string, owner: FolderOwner | 'damaged' | undefined, { key, hint }: HoldOptions): UserError {
  return new UserError(`${key}: another job writes into ${lockedBy(path)}: ${describe(owner)}.`, {
    code: 'FOLDER_BUSY',
    hint,
  })
}

const lost = (path: string, owner: FolderOwner | 'damaged' | undefined) =>
  new UserError(
    owner === undefined
      ? `The lock of this job in ${lockedBy(path)} was removed; nothing more is written there.`
      : `${lockedBy(path)} was taken over by ${describe(owner)}; this job writes nothing more there.`,
    { code: 'FOLDER_LOST', hint: `Let one job write there. While it runs, leave ${basename(path)} alone.` },
  )
