/** @file A file on its way in: written aside, perhaps in several attempts, compared with what was announced, then put in place. */
import { createHash } from 'node:crypto'
import {
  constants,
  createReadStream,
  createWriteStream,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
} from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AnnouncedFile } from '../executors/index.ts'
import { HttpError } from './http-error.ts'

/** Bytes of a file that have come. */
export function receivedBytes(folder: string, { name }: AnnouncedFile): number {
  const [found] = [join(folder, name), aside(folder, name)].flatMap((path) => plainFile(path) ?? [])
  return found?.size ?? 0
}

/** A link, a pipe or a folder that stands under a name is not the file that was sent. */
function plainFile(path: string): Stats | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? found : undefined
}

/** Takes the bytes from `from` on, which is where those that came before ended. What broke off is kept: the sender may go on from there. */
export async function receiveFile(request: IncomingMessage, folder: string, file: AnnouncedFile, from: number) {
  const { name, bytes, sha256 } = file
  const path = aside(folder, name)
  if (from !== receivedBytes(folder, file))
    throw new HttpError(409, `${name} cannot go on at byte ${from}.`, SEND_AGAIN)
  let got = from
  const check = new Transform({
    transform(piece: Buffer, _encoding, done) {
      got += piece.length
      // Somebody who sends more than he announced could fill the disk.
      if (got > bytes)
        done(new HttpError(400, `${name} is longer than the ${bytes} bytes that were announced.`, SEND_AGAIN))
      else done(null, piece)
    },
  })
  try {
    await pipeline(request, check, createWriteStream(path, { fd: openAside(path, from), autoClose: true }))
    if (got !== bytes || (await hashOfFile(path)) !== sha256)
      throw new HttpError(400, `${name} did not arrive as it was announced.`, SEND_AGAIN)
    if (!plainFile(join(folder, name))) rmSync(join(folder, name), { recursive: true, force: true })
    renameSync(path, join(folder, name))
  } catch (error) {
    if (!isBroken(error as NodeJS.ErrnoException)) rmSync(path, { force: true })
    throw error
  }
  return { name, bytes }
}

const SEND_AGAIN = 'Submit the job again; the file may have changed while it was sent.'

const aside = (folder: string, name: string) => join(folder, `.${name}.part`)

/** Whatever else stands there under this name makes room, and is not written through. */
function openAside(path: string, from: number): number {
  if (!plainFile(path)) rmSync(path, { recursive: true, force: true })
  const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_NOFOLLOW } = constants
  return openSync(path, O_WRONLY | O_CREAT | (O_NOFOLLOW ?? 0) | (from === 0 ? O_TRUNC : O_APPEND), 0o666)
}

/** The sender is gone in the middle. */
const isBroken = ({ code }: NodeJS.ErrnoException) => code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE'

export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(piece)
  return hash.digest('hex')
}

export function missingFiles(folder: string, files: readonly AnnouncedFile[]): readonly string[] {
  return files.map(({ name }) => name).filter((name) => !plainFile(join(folder, name)))
}
