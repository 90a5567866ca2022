/** @file The folder of the logs: made, and known to be writable, before anything is started. */
import { access, constants } from 'node:fs/promises'
import { makeFolder } from '../fs/index.ts'
import { logFolderUnusable } from './errors.ts'

export async function makeLogFolder(path: string): Promise<void> {
  try {
    await makeFolder(path)
    await access(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw logFolderUnusable(path, error)
  }
}
