/** @file Folders of splits, `<train_data_dir>/<day>/<HHMM>/`, here or on HDFS or S3: which are whole, and their files. */
import { basename } from 'node:path'
import type { JobConfig } from '../../base/config/index.ts'
import { anyFiles } from '../../base/fs/index.ts'
import { isUserError } from '../../base/util/index.ts'
import type { PassOfDay } from './days.ts'

/** What there is of a pass at one look. */
export interface FoundPass {
  /** Of the splits that are whole, in order. */
  readonly files: readonly string[]
  /** What is waited for: donefiles, or folders. */
  readonly missing: readonly string[]
}

/** Looks once. A split is whole when its donefile is there; where runner.data_donefile is empty, when it has a file. */
export async function findPass({ runner }: Pick<JobConfig, 'runner'>, { day, splits }: PassOfDay): Promise<FoundPass> {
  const { data_donefile: donefile, train_data_dir } = runner
  const folders = [train_data_dir ?? []].flat().flatMap((dir) => splits.map((split) => joined(dir, day, split)))
  const found = await Promise.all(folders.map((folder) => findSplit(folder, donefile)))
  return { files: found.flatMap(({ files }) => files), missing: found.flatMap(({ missing }) => missing) }
}

async function findSplit(folder: string, donefile: string): Promise<FoundPass> {
  const paths = await listed(folder)
  const names = paths.map((path) => basename(path))
  const isWhole = donefile === '' ? paths.length > 0 : names.includes(donefile)
  if (!isWhole) return { files: [], missing: [donefile === '' ? folder : joined(folder, donefile)] }
  return { files: paths.filter((_, i) => names[i] !== donefile && !/^[._]/.test(names[i]!)), missing: [] }
}

/** Nothing where the folder is not there yet. */
async function listed(folder: string): Promise<readonly string[]> {
  try {
    return await anyFiles.list(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || (isUserError(error) && error.code === 'FS_NOT_FOUND')) return []
    throw error
  }
}

/** Of an address too, in which `..` has no meaning. */
const joined = (...parts: readonly string[]) => parts.map((part) => part.replace(/\/+$/, '')).join('/')
