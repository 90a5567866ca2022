/** @file The folder of the logs: made, and known to be writable, before anything is started. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { logFolderUnusable } from './errors.ts'

export function makeLogFolder(path: string): void {
  try {
    make(path)
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw logFolderUnusable(path, error)
  }
}

/** Not `recursive: true`, which turns for ever where the system refuses with ENOENT (/proc). */
function make(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) make(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another launcher may have made it meanwhile.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}
