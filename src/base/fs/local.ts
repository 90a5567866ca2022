/** @file Files on this machine. Reads block: threads that read files have nothing else to do, and it is the fastest way. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileSystem, ReadFile } from './file-system.ts'

export const localFiles: FileSystem = {
  list: async (folder) => {
    const names = await readdir(folder)
    const kept = await Promise.all(names.map(async (name) => ((await isFolder(join(folder, name))) ? [] : [name])))
    return kept
      .flat()
      .sort((a, b) => (a < b ? -1 : 1))
      .map((name) => join(folder, name))
  },
  size: (path) => plain(statSync(path)).size,
  open: async (path) => openLocal(path),
}

/** A link to nothing counts as a file, so that reading it says what is wrong. */
async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** What has no size and may never end is no file of data. */
function plain(stats: Stats): Stats {
  if (stats.isFile()) return stats
  const kind = KINDS.find((is) => stats[is]()) ?? 'isFile'
  throw Object.assign(new Error(`this is ${NAMES[kind]}, not a file`), { code: NOT_FILE })
}

/** As small-text.ts has it: the system has no such code of its own. */
export const NOT_FILE = 'ENOTFILE'

const NAMES = {
  isDirectory: 'a folder',
  isFIFO: 'a named pipe',
  isCharacterDevice: 'a device',
  isBlockDevice: 'a device',
  isSocket: 'a socket',
  isFile: 'something else',
} as const
const KINDS = Object.keys(NAMES) as (keyof typeof NAMES)[]

function openLocal(path: string): ReadFile {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)) // a named pipe would wait for its writer
  const { size } = closedUnless(file, () => plain(fstatSync(file)))
  return {
    bytes: size,
    read: async (target, position) => {
      let got = 0
      while (got < target.length) {
        const bytes = readSync(file, target, got, target.length - got, position + got)
        if (bytes === 0) break
        got += bytes
      }
      return got
    },
    close: async () => closeSync(file),
  }
}

function closedUnless<T>(file: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    closeSync(file)
    throw error
  }
}
