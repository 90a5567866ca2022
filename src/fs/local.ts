/** @file Files on this machine. Reads block: threads that read files have nothing else to do, and it is the fastest way. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
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
  size: (path) => statSync(path).size,
  open: async (path) => openLocal(path),
}

/** A link to nothing counts as a file, so that reading it says what is wrong. */
async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

function openLocal(path: string): ReadFile {
  const file = openSync(path, 'r')
  return {
    bytes: fstatSync(file).size,
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
