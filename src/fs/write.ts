/** @file Writing on this machine: a file is on the disk when it is closed, a folder appears whole or not at all. */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** A file opened for writing. */
export interface WriteFile {
  /** Appends all of `data`, which must stay as it is until this resolves. */
  write(data: Uint8Array): Promise<void>
  /** Resolves when the content is on the disk. */
  close(): Promise<void>
}

export async function createFile(path: string): Promise<WriteFile> {
  const file = await open(path, 'wx')
  let position = 0
  return {
    write: async (data) => {
      for (let from = 0; from < data.length; ) {
        const { bytesWritten } = await file.write(data, from, data.length - from, position)
        from += bytesWritten
        position += bytesWritten
      }
    },
    close: async () => {
      try {
        await file.sync()
      } finally {
        await file.close()
      }
    },
  }
}

/**
 * Fills a new folder beside `folder` and puts it in its place once `fill` is done; if `fill` fails, what was there stays.
 * Remains of earlier attempts that were cut off are removed.
 */
export async function writeFolder<T>(folder: string, fill: (aside: string) => Promise<T>): Promise<T> {
  const [parent, aside, before] = [dirname(folder), `${folder}.tmp-${process.pid}`, `${folder}.old-${process.pid}`]
  await mkdir(parent, { recursive: true })
  await removeBeside(folder, '.tmp-')
  try {
    await mkdir(aside)
    const result = await fill(aside)
    await syncFolder(aside)
    await rename(folder, before).catch(ignoreMissing)
    await rename(aside, folder).catch(async (error) => {
      await rename(before, folder).catch(ignoreMissing)
      throw error
    })
    await syncFolder(parent)
    await removeBeside(folder, '.old-')
    return result
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    throw error
  }
}

async function removeBeside(folder: string, ending: string): Promise<void> {
  const names = await readdir(dirname(folder))
  const stale = names.filter((name) => name.startsWith(`${basename(folder)}${ending}`))
  await Promise.all(stale.map((name) => rm(join(dirname(folder), name), { recursive: true, force: true })))
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
