/** @file Small files that are read whole, such as manifests: what is larger than any of them is refused unread. */

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** A manifest of a hundred thousand parts has a fifth of that. */
export const SMALL_TEXT_BYTES = 64 * 1024 * 1024

/** The file's text; rejects with code EFBIG where it is larger, and ENOTFILE where it is a pipe or a device. */
export async function readSmallText(path: string, most: number = SMALL_TEXT_BYTES): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)) // a pipe would wait for its writer
  try {
    return await textOf(file, most)
  } finally {
    await file.close()
  }
}

async function textOf(file: FileHandle, most: number): Promise<string> {
  const stats = await file.stat()
  if (stats.isDirectory()) throw coded('EISDIR', 'this is a folder')
  if (!stats.isFile()) throw coded('ENOTFILE', 'this is no plain file')
  if (stats.size > most) throw coded('EFBIG', `it has ${stats.size} bytes, and ${most} are the most`)
  return await file.readFile('utf8')
}

/** The same at once, for files of a few lines such as locks; what is larger has the code EFBIG. */
export function readNote(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) throw coded('ENOTFILE', 'this is no plain file')
    if (stats.size > NOTE_BYTES) throw coded('EFBIG', `it has ${stats.size} bytes`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

const NOTE_BYTES = 64 * 1024

const coded = (code: string, message: string) => Object.assign(new Error(message), { code })
