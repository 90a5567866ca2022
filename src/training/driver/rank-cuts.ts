/** @file Parts of a cut that other ranks write: they say so by a file in its folder, since training has the group meanwhile. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readBrought, readJson } from '../../base/net/index.ts'
import { fromPlainError, type PlainError, toPlainError } from '../../base/util/index.ts'
import { type BegunParts, type SavedPart, saveError } from '../../weights/snapshot/index.ts'
import { readTold, type Told } from './gathered.ts'

const LOOK_EVERY_MS = 20

const fileOf = (aside: string, rank: number) => join(aside, `parts-of-${rank}.json`)

/** Writes what this rank has taken and says so. Never rejects; resolves to why it could not even say so: rank 0 waits to hear of it. */
export async function finishAside(
  aside: string,
  rank: number,
  begun: () => Promise<BegunParts>,
): Promise<PlainError | undefined> {
  const told = await begun()
    .then((parts) => parts.finish())
    .then(
      (parts): Told => ({ parts }),
      async (error): Promise<Told> => ({ error: await plainSaveError(error, aside) }),
    )
  const file = fileOf(aside, rank)
  return writeFile(`${file}.tmp`, JSON.stringify(told))
    .then(() => rename(`${file}.tmp`, file))
    .then(
      () => undefined,
      (error) => told.error ?? plainSaveError(error, aside),
    )
}

/** As it is said by the rank that saves. */
export async function plainSaveError(error: unknown, aside: string): Promise<PlainError> {
  return toPlainError(await saveError(error as NodeJS.ErrnoException, aside))
}

/** What the other ranks have written, once all have; aborting `signal` ends the wait, with its reason. */
export async function partsOfOthers(aside: string, ranks: number, signal: AbortSignal): Promise<readonly SavedPart[]> {
  const all: SavedPart[] = []
  for (let rank = 1; rank < ranks; rank++) {
    const { parts = [], error } = await told(fileOf(aside, rank), signal)
    if (error) throw fromPlainError(error)
    all.push(...parts)
    await rm(fileOf(aside, rank))
  }
  return all
}

async function told(file: string, signal: AbortSignal): Promise<Told> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text !== undefined)
      return readBrought(basename(file), () => readJson(Buffer.from(text), 'what it wrote', readTold))
    signal.throwIfAborted()
    await setTimeout(LOOK_EVERY_MS)
  }
}
