/** @file The folder that a data set is written to: train/ and test/, nothing of the user's replaced unasked. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isUserError, UserError } from '../../base/util/index.ts'

/** Makes train/ and test/ below `out`. */
export function prepareFolder(out: string, force: boolean): void {
  try {
    makeFolders(out, force)
  } catch (error) {
    if (isUserError(error)) throw error
    throw new UserError(`The output folder cannot be written: ${(error as Error).message}.`, {
      code: 'DATA_GENERATE',
      where: { file: out },
      hint: 'Name a folder that can be written with --out.',
      cause: error,
    })
  }
}

function makeFolders(out: string, force: boolean): void {
  if (!force && existsSync(out) && readdirSync(out).length > 0) {
    throw new UserError('The output folder is not empty.', {
      code: 'DATA_GENERATE',
      where: { file: out },
      hint: 'Name another folder, or replace its train/ and test/ with --force.',
    })
  }
  for (const name of ['train', 'test']) {
    rmSync(join(out, name), { recursive: true, force: true })
    mkdirSync(join(out, name), { recursive: true })
  }
}
