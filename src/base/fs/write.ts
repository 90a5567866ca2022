/** @file Writing on this machine: a file is on the disk when it is closed, a folder appears whole or not at all. */
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isRunning } from '../util/index.ts'

/** A file opened for writing. */
export interface WriteFile {
  /** Appends all of `data`, which must stay as it is until this resolves. */
  write(data: Uint8Array): Promise<void>
  /** Resolves when the content is on the disk. */
  close(): Promise<void>
}

const SYNC_BYTES = 32 * 1024 * 1024

export async function createFile(path: string): Promise<WriteFile> {
  const file = await open(path, 'wx')
  let [position, syncedAt] = [0, 0]
  // The disk works while more is written: a single sync at the end would have to wait for all of it.
  let syncing: Promise<void> | undefined
  let failure: unknown
  const syncBehind = () => {
    if (syncing || position - syncedAt < SYNC_BYTES) return
    syncedAt = position
    syncing = file.datasync().then(
      () => {
        syncing = undefined
      },
      (error) => {
        failure = error // the system reports it once, so it must not be lost
        syncing = undefined
      },
    )
  }
  return {
    write: async (data) => {
      for (let from = 0; from < data.length; ) {
        const { bytesWritten } = await file.write(data, from, data.length - from, position)
        from += bytesWritten
        position += bytesWritten
      }
      syncBehind()
    },
    close: async () => {
      try {
        await syncing
        if (failure !== undefined) throw failure
        await file.sync()
      } finally {
        await file.close()
      }
    },
  }
}

/** A small file for its owner alone, there whole or as it was: written aside with mode 600 from its first byte, then moved. */
export async function writePrivate(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await replaceFile(path, text, 0o600)
}

/** A small file whose content is the old or the new one at any moment: written aside, on the disk, then moved. */
export async function replaceFile(path: string, text: string, mode = 0o666): Promise<void> {
  const aside = `${path}.${process.pid}.part`
  const file = await open(aside, 'w', mode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(aside, path)
  await syncFolder(dirname(path))
}

/**
 * Fills a new folder beside `folder` and puts it in its place once `fill` is done; if `fill` fails, what was there stays.
 * Remains of attempts that were cut off are removed; those of processes that still run are left alone.
 */
export async function writeFolder<T>(folder: string, fill: (aside: string) => Promise<T>): Promise<T> {
  const owner = `${hostname()}-${process.pid}`
  await makeFolder(dirname(folder))
  await removeStale(folder)
  const aside = await mkdtemp(`${folder}.tmp-${owner}-`)
  try {
    const result = await fill(aside)
    await chmod(aside, 0o777 & ~process.umask()) // mkdtemp makes folders that others may not read
    await syncTree(aside)
    await replaceFolder(aside, folder)
    return result
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    throw error
  }
}

export interface Replaceable {
  /** What the manifest.json of such a folder says of itself. */
  readonly format: string
  /** Names of its files: one whose manifest was lost holds nothing else. */
  readonly files?: RegExp | undefined
}

/** Whether a folder may be replaced: it is not there, is empty, or is of this kind. What else a user keeps in it is not to go with it. */
export async function isReplaceable(folder: string, { format, files }: Replaceable): Promise<boolean> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    ignoreMissing(error)
    return []
  })
  if (names.every((name) => files?.test(name) ?? false)) return true
  if (!names.includes('manifest.json')) return false
  return (await readFile(join(folder, 'manifest.json'), 'utf8')).includes(`"${format}"`)
}

/** Creates a folder and those above it. Node's own `recursive` never returns where a file system answers "not found", as /proc does. */
export async function makeFolder(path: string): Promise<void> {
  const make = () =>
    mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
      const there = error.code === 'EEXIST' ? await stat(path).catch(() => undefined) : undefined
      if (!there?.isDirectory()) throw error
    })
  try {
    await make()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    await makeFolder(dirname(path))
    await make()
  }
}

const ATTEMPTS = 3 // another run may put a folder of its own there between the two moves

async function replaceFolder(aside: string, folder: string): Promise<void> {
  // Of its own name alone: a folder above it may have such a name too.
  const before = join(dirname(aside), basename(aside).replace('.tmp-', '.old-'))
  for (let attempt = 1; ; attempt++) {
    await rename(folder, before).catch(ignoreMissing)
    try {
      await rename(aside, folder)
      break
    } catch (error) {
      await rename(before, folder).catch((reason: NodeJS.ErrnoException) => {
        if (reason.code === 'ENOTEMPTY' || reason.code === 'EEXIST') return rm(before, { recursive: true, force: true })
        return ignoreMissing(reason)
      })
      if (attempt === ATTEMPTS) throw error
    }
  }
  await syncFolder(dirname(folder))
  await rm(before, { recursive: true, force: true })
}

async function removeStale(folder: string): Promise<void> {
  const names = await readdir(dirname(folder))
  const stale = names.filter((name) => {
    const found = LEFT.exec(name)
    if (found?.[1] !== basename(folder) || !found[2]!.startsWith(`${hostname()}-`)) return false
    return !isRunning(Number(found[2]!.slice(hostname().length + 1)))
  })
  await Promise.all(stale.map((name) => rm(join(dirname(folder), name), { recursive: true, force: true })))
}

/** Name, host and process of a folder that was being written, or was to be removed, when its writer was cut off. */
const LEFT = /^(.+)\.(?:tmp|old)-(.+-\d+)-\w+$/
const LEFT_FILE = /\.(\d+)(?:\.part|-[0-9a-f]{8})$/

/** What writers of a folder that were cut off have left in it: whoever calls has the folder's lock. */
export async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder)
  const isLeft = (name: string) => {
    const file = LEFT_FILE.exec(name)
    return file ? !isRunning(Number(file[1])) : LEFT.test(name)
  }
  const left = names.filter(isLeft)
  await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}

/** Files too: who filled the folder need not have flushed them, and a name on the disk must not lead to nothing. */
async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await syncTree(path)
    else if (entry.isFile()) await syncFile(path)
  }
  await syncFolder(folder)
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

/** Makes names in a folder last. Windows has no such call and refuses to open a folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
