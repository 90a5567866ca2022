/** @file Which files hold the data. */
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { anyFiles, isRemotePath, listRemote } from '../base/fs/index.ts'
import { isUserError, UserError } from '../base/util/index.ts'
import type { MeasuredFile } from './plan.ts'
import { noteRowGroups } from './tables/parquet-plan.ts'

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
  if (data.length > MOST_FILES) throw tooMany(data.length, folder, key)
  await noteRowGroups(data)
  if (data.length > 0) return data
  throw new UserError(`${key}: the folder holds no data files.`, {
    code: 'DATA_FOLDER',
    where: { file: folder },
    hint: `Put slot text, MultiSlot text or .gz of them there, or set ${key} to another folder.`,
  })
}

/** Each is opened, measured and kept in every process's plan. */
const MOST_FILES = 1_000_000

function tooMany(count: number, folder: string, key: string): UserError {
  return new UserError(`${key}: the folder holds ${count} data files; ${MOST_FILES} are the most.`, {
    code: 'DATA_FOLDER',
    where: { file: folder },
    hint: 'Join them: files of some hundred megabytes are read fastest.',
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
  if (files.length > MOST_FILES) throw tooMany(files.length, folder, key)
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
    hint,
    cause,
  })
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() ?? false

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'this is a file, not a folder',
  EACCES: 'the folder may not be read',
}

/** The files that are not empty; at least one must be. */
export function filesToRead(
  files: readonly string[],
  onNotice: ((message: string) => void) | undefined,
): readonly MeasuredFile[] {
  const measured = measureFiles(files)
  for (const { path, bytes } of measured) if (bytes === 0) onNotice?.(`${path} is empty.`)
  const full = measured.filter(({ bytes }) => bytes > 0)
  if (full.length > 0) return full
  const what = files.length === 0 ? 'There are no data files to read.' : `All ${files.length} data files are empty.`
  throw new UserError(what, {
    code: 'DATA_EMPTY',
    where: files[0] === undefined ? undefined : { file: files[0] },
    hint: 'Set runner.train_data_dir (or runner.test_data_dir) to the folder that holds your data files.',
  })
}

/** Sizes of the files to read, each of which must exist. */
export function measureFiles(files: readonly string[]): readonly MeasuredFile[] {
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
