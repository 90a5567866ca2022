/** @file Requests that were answered, for as long as they could be sent again: on the disk, so that a restart forgets none. */
import { createHash } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'

export interface Nonces {
  /** Remembers one until a time; says so where it is known already, or where no more can be remembered. */
  add(nonce: string, until: number): 'new' | 'seen' | 'full'
  close(): void
}

export interface NonceOptions {
  readonly clock?: (() => number) | undefined
  /** Requests of known users within the ten minutes that one lives. @default 200,000 */
  readonly most?: number | undefined
  /** The file is written anew when it has so many lines and most of them are old. @default 10,000 */
  readonly compactLines?: number | undefined
}

const MOST = 200_000
const COMPACT_LINES = 10_000

/** `file` undefined: in memory alone. Nonces are kept as hashes: whatever their length, a line has the same. */
export function openNonces(
  file: string | undefined,
  { clock = Date.now, most = MOST, compactLines = COMPACT_LINES }: NonceOptions = {},
): Nonces {
  const seen = new Map<string, number>(file === undefined ? [] : readLines(file, clock()))
  let log = file === undefined ? undefined : startLog(file, seen)
  let lines = seen.size
  const forget = (now: number) => {
    for (const [hash, until] of seen) {
      // In the order of their coming, and so about in that of their end.
      if (until >= now) return
      seen.delete(hash)
    }
  }
  return {
    add: (nonce, until) => {
      forget(clock())
      const hash = createHash('sha256').update(nonce).digest('base64url').slice(0, HASH_CHARACTERS)
      if (seen.has(hash)) return 'seen'
      if (seen.size >= most) return 'full'
      seen.set(hash, until)
      if (file === undefined || log === undefined) return 'new'
      if (++lines > compactLines && lines > 2 * seen.size) {
        closeSync(log)
        log = startLog(file, seen)
        lines = seen.size
      } else {
        writeSync(log, lineOf([hash, until]))
        // On the disk before the request is answered: what it started must not start again after a power cut.
        fdatasyncSync(log)
      }
      return 'new'
    },
    close: () => {
      if (log !== undefined) closeSync(log)
      log = undefined
    },
  }
}

const HASH_CHARACTERS = 22 // 132 bits
const lineOf = ([hash, until]: readonly [string, number]) => `${until} ${hash}\n`

/** The file with what still counts and nothing else, opened for more. */
function startLog(file: string, seen: ReadonlyMap<string, number>): number {
  writeFileSync(`${file}.part`, [...seen].map(lineOf).join(''), { mode: 0o600, flush: true })
  renameSync(`${file}.part`, file)
  return openSync(file, 'a', 0o600)
}

/** A last line that was cut off belongs to a request that was not answered. */
function readLines(file: string, now: number): readonly [string, number][] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return text.split('\n').flatMap((line): [string, number][] => {
    const [, until, hash] = /^(\d{1,16}) ([\w-]{22})$/.exec(line) ?? []
    return hash !== undefined && Number(until) >= now ? [[hash, Number(until)]] : []
  })
}
