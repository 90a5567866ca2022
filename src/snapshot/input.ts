/** @file A mark of the input, to notice that it changed under a checkpoint saved inside an epoch. */
import { basename } from 'node:path'
import { crc32 } from 'node:zlib'
import { measureFiles } from '../data/index.ts'
import { hexOf, type InputMark } from './manifest.ts'

/** Names and sizes of the files, in order; where the folder lies does not matter. */
export function markInput(files: readonly string[]): InputMark {
  const measured = measureFiles(files)
  const names = measured.map(({ path, bytes }) => `${basename(path)}\t${bytes}\n`).join('')
  return {
    files: files.length,
    bytes: measured.reduce((sum, { bytes }) => sum + bytes, 0),
    crc32: hexOf(crc32(names)),
  }
}
