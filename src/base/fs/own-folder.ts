/** @file Folders that a program replaces as a whole when it says so: each is the program's own from the first time on, until it ends. */
import { dirname, resolve } from 'node:path'
import { isUserError, UserError } from '../util/index.ts'
import { type FolderLock, holdFolder } from './folder-lock.ts'
import { makeFolder } from './write.ts'

export interface OwnFolderOptions {
  /** The call that names the folder. */
  readonly key: string
  /** What processes of one job have in common, where several of them may write there. @default this process is the job */
  readonly job?: string | undefined
  readonly onWait?: ((message: string) => void) | undefined
}

const owned = new Map<string, Promise<FolderLock>>()

/** Rejects with FOLDER_BUSY where another process has it. */
export function ownFolder(folder: string, options: OwnFolderOptions): Promise<FolderLock> {
  const path = resolve(folder)
  const held = owned.get(path) ?? hold(path, options)
  owned.set(path, held)
  held.catch(() => owned.delete(path)) // the other may have ended by the next time
  return held
}

async function hold(path: string, options: OwnFolderOptions): Promise<FolderLock> {
  const hint = 'Wait for its end, stop it, or name another folder.'
  const isShared = options.job !== undefined
  try {
    await makeFolder(dirname(path))
    return await holdFolder(path, { ...options, kind: 'model', isBeside: true, isShared, hint })
  } catch (error) {
    if (isUserError(error)) throw error
    throw new UserError(`${options.key}: ${path} cannot be written: ${(error as Error).message}`, {
      code: 'FOLDER_WRITE',
      hint: 'name a folder that can be written, on a disk with room',
      cause: error,
    })
  }
}
