/** @file Sockets and folders of this process among those of others in the temporary folder, named so that the next start can tell whose are left over. */
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning, pidNamespace } from './process-place.ts'

/** `oarfish-NAMESPACE-PID-KIND-RANDOM`: a socket's path may have a hundred bytes, so it is short. */
const NAME = /^oarfish-(\d*)-(\d+)-([a-z]+)-[0-9a-f]{12}(\.sock)?$/

/** A name that is free, and that says whose it is. */
export function ownName(kind: 'net' | 'shm' | 'gloo' | 'join' | 'fifo' | 'files' | 'package' | 'ssh' | 'rows'): string {
  return `oarfish-${pidNamespace()}-${process.pid}-${kind}-${randomBytes(6).toString('hex')}`
}

/** A new folder that nobody else may enter. */
export function makeOwnFolder(kind: Parameters<typeof ownName>[0], parent: string = tmpdir()): string {
  const path = join(parent, ownName(kind))
  mkdirSync(path, { mode: 0o700 })
  return path
}

/** Where shared memory has names, where that is a folder. */
export const SHARED_MEMORY = '/dev/shm'

/**
 * Removes what processes of this user left when they were killed. A number that is in use, or of another namespace, is left alone,
 * so nothing of a live process goes; two that clean at once remove the same, which is no harm.
 */
export function removeLeftovers(folders: readonly string[] = [tmpdir(), SHARED_MEMORY]): readonly string[] {
  const here = pidNamespace()
  return folders.flatMap((folder) =>
    namesIn(folder).flatMap((name) => {
      const [, namespace, pid] = NAME.exec(name) ?? []
      if (pid === undefined || namespace !== here || isRunning(Number(pid))) return []
      return remove(join(folder, name))
    }),
  )
}

function namesIn(folder: string): readonly string[] {
  try {
    return existsSync(folder) ? readdirSync(folder) : []
  } catch {
    return []
  }
}

function remove(path: string): readonly string[] {
  try {
    // A link of that name is somebody's trick: it is not followed, nor is what belongs to another user touched.
    const stats = lstatSync(path)
    if (stats.isSymbolicLink() || stats.uid !== process.getuid?.()) return []
    rmSync(path, { recursive: true, force: true })
    return [path]
  } catch {
    return [] // another was first, or may not: the next start tries again
  }
}
