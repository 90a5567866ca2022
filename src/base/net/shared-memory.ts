/** @file Memory that two processes of one host see: a file in memory, mapped by both. */
import { closeSync, constants, existsSync, fstatSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { ownName, SHARED_MEMORY } from '../util/index.ts'

export interface SharedMemory {
  readonly buffer: ArrayBuffer
  /** Where the other process finds it, until unlinked. */
  readonly path: string
  /** Takes the name away; the memory lives until both sides are done with it. */
  unlink(): void
}

/** New memory of `bytes`; undefined where the system has no such thing or no room for it. */
export function createSharedMemory(bytes: number): SharedMemory | undefined {
  const path = join(folder(), ownName('shm'))
  return attempt(() => {
    const file = openSync(path, 'wx+', 0o600)
    try {
      // Written, not only sized: memory that is missing is noticed here, and not by a signal when it is first touched.
      for (let at = 0; at < bytes; ) at += writeSync(file, ZEROS, 0, Math.min(ZEROS.length, bytes - at))
      return { buffer: map(file, bytes), path, unlink: () => unlinkSync(path) }
    } catch (error) {
      unlinkSync(path)
      throw error
    } finally {
      closeSync(file)
    }
  })
}

/** The memory another process has made; undefined when it is not to be seen here. */
export function openSharedMemory(path: string): ArrayBuffer | undefined {
  return attempt(() => {
    // Said by the other side: no other file may be touched in its name.
    if (dirname(path) !== folder() || !basename(path).startsWith('oarfish-')) return undefined
    const file = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)
    try {
      const { size, uid } = fstatSync(file)
      // Of another user it could be cut short under this process.
      if (uid !== process.getuid?.()) return undefined
      return map(file, size)
    } finally {
      closeSync(file)
    }
  })
}

/** Where memory lies in this process, for its other threads. */
export function memoryAddress(buffer: ArrayBuffer): bigint {
  return koffi().address(pointerTo(new Uint8Array(buffer)))
}

/** Memory of this process by its address, as another thread of it has mapped it. */
export function memoryAt(address: bigint, bytes: number): ArrayBuffer {
  return koffi().view(pointerTo(address), bytes)
}

const ZEROS = new Uint8Array(1024 * 1024)
const [READ_WRITE, SHARED] = [3, 1]

/** Sockets do the same more slowly: whatever goes wrong here is no reason to stop. */
function attempt<T>(work: () => T): T | undefined {
  if (process.platform === 'win32') return undefined
  try {
    return work()
  } catch {
    return undefined
  }
}

function folder(): string {
  return existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir()
}

function map(file: number, bytes: number): ArrayBuffer {
  const mmap = koffi()
    .load(null)
    .func('void *mmap(void *address, size_t bytes, int protection, int flags, int file, int64_t offset)')
  const address = mmap(null, bytes, READ_WRITE, SHARED, file, 0)
  if (koffi().address(address) === MAP_FAILED) throw new Error('mmap failed')
  return koffi().view(address, bytes)
}

/** A pointer as koffi has it: moving nothing returns where it would have gone. */
function pointerTo(place: Uint8Array | bigint): unknown {
  return koffi().load(null).func('void *memmove(void *to, void *from, size_t bytes)')(place, place, 0)
}

/** Loaded when first needed: most commands never map memory. */
function koffi(): typeof import('koffi') {
  return createRequire(import.meta.url)('koffi') as typeof import('koffi')
}

const MAP_FAILED = 2n ** 64n - 1n
