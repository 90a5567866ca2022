/** @file The folder of a launch's logs: made, writable, and of one job at a time. */
import { createHash } from 'node:crypto'
import { access, constants } from 'node:fs/promises'
import { type FolderLock, holdFolder, makeFolder } from '../../base/fs/index.ts'
import { isUserError } from '../../base/util/index.ts'
import { logFolderUnusable } from './errors.ts'

export async function makeLogFolder(path: string): Promise<void> {
  try {
    await makeFolder(path)
    await access(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw logFolderUnusable(path, error)
  }
}

export interface HoldLogsOptions {
  readonly script: readonly string[]
  readonly onWait: (message: string) => void
  /** What launches of one job on several hosts have in common; hosts that see one disk may share the folder. Undefined: this launch is the job. */
  readonly job: unknown
}

/** Makes it, too. Rejects where another job logs there. */
export async function holdLogFolder(path: string, { script, job, onWait }: HoldLogsOptions): Promise<FolderLock> {
  await makeLogFolder(path)
  try {
    return await holdFolder(path, {
      command: script.join(' ').slice(0, MOST_CHARACTERS),
      job: job === undefined ? undefined : nameOf([job, script]),
      isShared: true,
      kind: 'log',
      key: '--log_dir',
      hint: 'Wait for its end, stop it, or name another folder, for example --log_dir log2',
      onWait,
    })
  } catch (error) {
    throw isUserError(error) ? error : logFolderUnusable(path, error)
  }
}

const MOST_CHARACTERS = 200
const nameOf = (job: unknown) => createHash('sha256').update(JSON.stringify(job)).digest('hex').slice(0, 12)
