/** @file Secrets at rest: AES-256-GCM under a key in a file of its own (mode 600), so that a copy of the other files gives none away. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UserError } from '../../base/util/index.ts'

export interface Sealer {
  /** `purpose` says whose secret it is: sealed for one, it does not open for another. */
  seal(text: string, purpose: string): string
  open(sealed: string, purpose: string): string
}

const PREFIX = 'sealed:1:'
const [KEY_BYTES, IV_BYTES, TAG_BYTES] = [32, 12, 16]

/** Files of servers before this one hold secrets as they are; they are read, and sealed when next written. */
export const isSealed = (text: string) => text.startsWith(PREFIX)

/** The key beside a file of the server. */
export const keyFileOf = (file: string) => join(dirname(file), 'secrets.key')

/** Reads the key, or makes it where there is none yet. */
export function openSealer(keyFile: string): Sealer {
  const key = readKey(keyFile) ?? makeKey(keyFile)
  return {
    seal: (text, purpose) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return `${PREFIX}${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')}`
    },
    open: (sealed, purpose) => {
      const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64')
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
        return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
      } catch (cause) {
        throw keyError(`What was kept for ${purpose} does not open with ${keyFile}.`, RESTORE, cause)
      }
    },
  }
}

function readKey(file: string): Buffer | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
    // A copy made by hand, or by a backup, may have got wider rights.
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw keyError(`${file} cannot be read: ${(cause as Error).message}.`, SAME_USER, cause)
  }
  const key = Buffer.from(text, 'hex')
  if (key.length !== KEY_BYTES) throw keyError(`${file} holds no key of ${KEY_BYTES} bytes in hex.`, RESTORE)
  return key
}

/** Linked into place: of two that make it at once, both then use that of the first. */
function makeKey(file: string): Buffer {
  const aside = `${file}.${process.pid}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(aside, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
    linkSync(aside, file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw keyError(`${file} cannot be made: ${(cause as Error).message}.`, SAME_USER, cause)
  } finally {
    rmSync(aside, { force: true })
  }
  return readKey(file)!
}

const SAME_USER = 'Run this as the user of the job server, with its --dir.'
const RESTORE =
  'Restore the key from a backup. Without it: "oarfish cloud user rotate NAME" for each user, and submit again.'

const keyError = (message: string, hint: string, cause?: unknown) =>
  new UserError(message, { code: 'CLOUD_KEY', hint, cause })
