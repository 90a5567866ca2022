/** @file Files on this machine. Reads block: threads that read files have nothing else to do, and it is the fastest way. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileSystem, ReadFile } from './file-system.ts'

export const localFiles: FileSystem = {
  list: async (folder) => {
    const entries = await readdir(folder)
    const files = await Promise.all(
      entries.map(async (name) => ((await stat(join(folder, name))).isFile() ? [name] : [])),
    )
    return files
      .flat()
      .sort((a, b) => (a < b ? -1 : 1))
      .map((name) => join(folder, name))
  },
  size: (path) => statSync(path).size,
  open: async (path) => openLocal(path),
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
