/** @file A file on its way in: written aside, compared with what was announced, then put in place. */
import { createHash } from 'node:crypto'
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AnnouncedFile } from './jobs.ts'

export async function receiveFile(request: IncomingMessage, folder: string, { name, bytes, sha256 }: AnnouncedFile) {
  const aside = join(folder, `.${name}.part`)
  const hash = createHash('sha256')
  let got = 0
  const check = new Transform({
    transform(piece: Buffer, _encoding, done) {
      got += piece.length
      hash.update(piece)
      // Somebody who sends more than he announced could fill the disk.
      if (got > bytes) done(new Error(`${name} is longer than the ${bytes} bytes that were announced.`))
      else done(null, piece)
    },
  })
  try {
    await pipeline(request, check, createWriteStream(aside))
    if (got !== bytes || hash.digest('hex') !== sha256) throw new Error(`${name} did not arrive as it was announced.`)
    renameSync(aside, join(folder, name))
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  }
  return { name, bytes }
}

export function missingFiles(folder: string, files: readonly AnnouncedFile[]): readonly string[] {
  return files.map(({ name }) => name).filter((name) => !existsSync(join(folder, name)))
}
