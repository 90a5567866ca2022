/** @file Files of run folders, read only where they are plain files: a link, a pipe or a device under such a name is somebody's mischief. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, readSync, realpathSync } from 'node:fs'
import { sep } from 'node:path'

/** All of a file, or its bytes from one place to another. */
export type ReadFile = (path: string, from?: number, to?: number) => Buffer

const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW = 0 } = constants

/** Throws where it is anything else. A pipe is not waited for. */
export const readPlain: ReadFile = (path, from, to) => readOpened(openPlain(path), from, to)

/**
 * Of an opened file the system says where it lies: whoever may change folders on the way cannot lead elsewhere between a look and the reading. A second
 * name (a hard link) may be of a file elsewhere, and is refused.
 */
export function readWithin(folder: string): ReadFile {
  return (path, from, to) => readOpened(openWithin(folder, path), from, to)
}

export function openWithin(folder: string, path: string): number {
  const fd = openPlain(path)
  try {
    const isBelow = realPathOf(fd, path).startsWith(`${realpathSync(folder)}${sep}`)
    if (!isBelow || fstatSync(fd).nlink > 1) throw new Error(`${path} leads out of ${folder}.`)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function openPlain(path: string): number {
  const fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new Error(`${path} is no plain file.`)
}

/** More than a run writes into one file that is read whole; a file with holes costs its writer nothing. */
const MOST_BYTES = 256 << 20

function readOpened(fd: number, from = 0, to = Number.POSITIVE_INFINITY): Buffer {
  try {
    const { size } = fstatSync(fd)
    if (Math.min(size, to) - from > MOST_BYTES) throw new Error('The file is too large to be one of a run.')
    if (from === 0 && to === Number.POSITIVE_INFINITY) return readFileSync(fd)
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(size, to) - from))
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from))
  } finally {
    closeSync(fd)
  }
}

const realPathOf = (fd: number, path: string) =>
  process.platform === 'linux' ? readlinkSync(`/proc/self/fd/${fd}`) : realpathSync(path)
