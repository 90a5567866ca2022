/** @file train.list and test.list: names of data files, one a line. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { listError } from './errors.ts'

/** The files that a list names, as absolute paths; names are relative to `folder`, as the original's are to the working folder. */
export function readFileList(list: string, folder: string): readonly string[] {
  const path = resolve(folder, list)
  if (!existsSync(path) || !statSync(path).isFile())
    throw listError(path, 'There is no such list of data files.', 'Write it: the name of one data file a line.')
  const lines = readFileSync(path, 'utf8').split(/\r?\n/)
  const files = lines.flatMap((line, at) => (line.trim() === '' ? [] : [{ name: line.trim(), line: at + 1 }]))
  if (files.length === 0) throw listError(path, 'The list names no files.', 'Write the name of one data file a line.')
  return files.map(({ name, line }) => {
    const file = resolve(folder, name)
    if (!existsSync(file) || !statSync(file).isFile())
      throw listError(path, `There is no data file ${name}.`, `Names are relative to ${folder}.`, line)
    return file
  })
}
