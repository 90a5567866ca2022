/** @file Which files hold the data. */
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { anyFiles, isRemotePath, listRemote } from '../fs/index.ts'
import { isUserError, UserError } from '../util/index.ts'
import { noteRowGroups } from './parquet-plan.ts'

/**
 * The data files of a folder in name order; hidden files and markers such as _SUCCESS are left out, subfolders are not entered.
 * `key` is the setting that named the folder, for the error when it is missing or empty.
 */
export async function listDataFiles(folder: string, key = 'runner.train_data_dir'): Promise<readonly string[]> {
  const files = await anyFiles.list(folder).catch((cause: NodeJS.ErrnoException) => {
    if (isUserError(cause)) throw atKey(cause, folder, key)
    throw new UserError(`${key}: ${REASONS[cause.code ?? ''] ?? `the folder cannot be read (${cause.message})`}.`, {
      code: 'DATA_FOLDER',
      where: { file: folder },
      hint: `Set ${key} to the folder that holds your data files, or give one with -o ${key}=FOLDER.`,
      cause,
    })
  })
  const data = files.filter((file) => !/^[._]/.test(basename(file)))
  await noteRowGroups(data)
  if (data.length > 0) return data
  throw new UserError(`${key}: the folder holds no data files.`, {
    code: 'DATA_FOLDER',
    where: { file: folder },
    hint: `Put slot text, MultiSlot text or .gz of them there, or set ${key} to another folder.`,
  })
}

/** As listDataFiles, with the files of all sub-folders; hidden folders are not entered. Sorted as whole paths. */
export async function listDataTree(folder: string, key: string): Promise<readonly string[]> {
  if (isRemotePath(folder)) return await listRemoteTree(folder, key)
  const folders = [folder]
  const files: string[] = []
  for (const next of folders) {
    const entries = await readdir(next, { withFileTypes: true })
    for (const entry of entries.filter(({ name }) => !/^[._]/.test(name))) {
      const path = join(next, entry.name)
      ;((await isFolder(path)) ? folders : files).push(path)
    }
  }
  if (files.length > 0) return files.sort()
  return listDataFiles(folder, key)
}

async function listRemoteTree(folder: string, key: string): Promise<readonly string[]> {
  const shown = (path: string) => !/(^|\/)[._]/.test(path)
  const files = await listRemote(folder, shown).catch((cause) => {
    throw isUserError(cause) ? atKey(cause, folder, key) : cause
  })
  await noteRowGroups(files)
  return files.length > 0 ? files : await listDataFiles(folder, key)
}

/** What a file system says, with the setting that led there. */
function atKey(cause: UserError, folder: string, key: string): UserError {
  const { code, message, hint } = cause
  return new UserError(`${key}: ${message}`, {
    code,
    where: { file: folder },
    ...(hint !== undefined && { hint }),
    cause,
  })
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() ?? false

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'this is a file, not a folder',
  EACCES: 'the folder may not be read',
}

/** Sizes of the files to read, each of which must exist. */
export function measureFiles(files: readonly string[]): readonly { readonly path: string; readonly bytes: number }[] {
  return files.map((path) => {
    try {
      return { path, bytes: anyFiles.size(path) }
    } catch (cause) {
      throw new UserError(`The data file cannot be read: ${(cause as Error).message}.`, {
        code: 'DATA_FILE',
        where: { file: path },
        hint: 'Check the path and its permissions.',
        cause,
      })
    }
  })
}
