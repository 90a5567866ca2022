/** @file A process's rows as parts of a checkpoint: copied while nobody trains, written while everybody does; or written as they come. */
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { EventSink } from '../../base/event/index.ts'
import { isUserError } from '../../base/util/index.ts'
import type { LocalParams } from '../params/index.ts'
import type { SparseTable } from '../table/index.ts'
import { BlockWriter, type Clock } from './block-writer.ts'
import { cannotWrite, diskFull } from './errors.ts'
import type { FileMark, ManifestTable } from './manifest.ts'
import { tableProgress } from './progress.ts'
import { openThreadClock } from './thread-clock.ts'

/** Some rows of a table. */
export interface Rows {
  readonly signs: BigUint64Array
  /** Weight and state as the table keeps them. */
  readonly rows: Uint8Array
}

/** A part of a table, and the files that it is in. */
export interface SavedPart {
  /** By its number among the tables. */
  readonly table: number
  readonly part: ManifestTable['parts'][number]
  readonly files: Readonly<Record<string, FileMark>>
  /** Rows that the process has of this table: those of the part, unless only changed ones are in it. */
  readonly rows: number
  /** Seconds of a processor: rows looked through and copied, checksums. What the system does to write is not in it. */
  readonly workSeconds?: number | undefined
}

/** Writes rows into the folder of a checkpoint that is being filled. */
export type SaveRows = (aside: string) => Promise<readonly SavedPart[]>

export interface PartOptions {
  readonly aside: string
  readonly table: number
  /** Of the part: parts of a table differ in it. */
  readonly number: number
  readonly onRows?: ((rows: number) => void) | undefined
  /** What `workSeconds` is measured by. @default the time of day */
  readonly clock?: Clock | undefined
}

/** Writes rows as they come. */
export async function savePart(options: PartOptions, blocks: AsyncIterable<Rows> | Iterable<Rows>): Promise<SavedPart> {
  const part = await createPart(options)
  try {
    for await (const block of blocks) {
      part.add(block)
      while ((await part.writeFull()) > 0);
    }
    return await part.close()
  } catch (error) {
    await part.abandon()
    throw error
  }
}

/** The rows of these tables of a process, as its parts. No thread may train meanwhile. */
export async function saveParts(
  aside: string,
  number: number,
  tables: Iterable<number>,
  { params, emit }: { readonly params: LocalParams; readonly emit: EventSink },
): Promise<readonly SavedPart[]> {
  const saved: SavedPart[] = []
  for (const table of tables) {
    const { name, rowCount } = params.tables[table]!
    const onRows = tableProgress(emit, 'save', name, rowCount)
    saved.push(await savePart({ aside, table, number, onRows }, params.tables[table]!.scan()))
  }
  return saved
}

export interface BeginOptions {
  readonly aside: string
  /** Of the parts. */
  readonly number: number
  /** With their numbers. */
  readonly tables: readonly (readonly [number: number, table: SparseTable])[]
  /** Only rows that changed since the last time. */
  readonly changed: boolean
  /** So much is copied at most; what is more goes to the disk at once. @default 256 MB */
  readonly copyBytes?: number | undefined
}

export interface BegunParts {
  /** Writes what was copied. Resolves when all is on the disk. */
  finish(): Promise<readonly SavedPart[]>
}

/** Of this process. */
export interface OwnParts extends BegunParts {
  /** Instead of `finish`: lets go of what was copied. */
  abandon(): Promise<void>
}

const COPY_BYTES = 256 * 1024 * 1024

/** Takes the rows as they are now, while no thread trains; when it has resolved, threads may go on. What changed since then counts as changed. */
export async function beginParts(options: BeginOptions): Promise<OwnParts> {
  const { aside, number, changed, copyBytes = COPY_BYTES } = options
  let room = copyBytes
  const begun: Begun[] = []
  const clock = openThreadClock()
  const abandon = () => abandonParts(begun).finally(clock.close)
  try {
    for (const [n, table] of options.tables) {
      const part = await createPart({ aside, table: n, number, clock })
      const own: Begun = { part, rows: table.rowCount, workMs: 0 }
      begun.push(own)
      let from = clock.now()
      for (const views of changed ? table.changed() : table.scan()) {
        part.add(views)
        room -= views.signs.byteLength + views.rows.byteLength
        own.workMs += clock.now() - from
        while (room < 0) room += (await writeFirst(begun)) || copyBytes - room
        from = clock.now()
      }
      table.forgetChanges()
      own.workMs += clock.now() - from
    }
  } catch (error) {
    await abandon()
    throw error
  }
  return { finish: () => finishParts(begun).finally(clock.close), abandon }
}

/** Of what was copied, the oldest full block; returns its bytes. */
async function writeFirst(begun: readonly Begun[]): Promise<number> {
  for (const { part } of begun) {
    const bytes = await part.writeFull()
    if (bytes > 0) return bytes
  }
  return 0
}

async function abandonParts(begun: readonly Begun[]): Promise<void> {
  await Promise.all(begun.map(({ part }) => part.abandon()))
}

interface Begun {
  readonly part: OpenPart
  /** Of the table. */
  readonly rows: number
  workMs: number
}

async function finishParts(begun: readonly Begun[]): Promise<readonly SavedPart[]> {
  try {
    const saved: SavedPart[] = []
    for (const { part, rows, workMs } of begun) {
      while ((await part.writeFull()) > 0) await setImmediate() // training has its turns
      saved.push(await part.close({ rows, workSeconds: workMs / 1000 }))
    }
    return saved
  } catch (error) {
    await abandonParts(begun)
    throw error
  }
}

interface OpenPart {
  /** Copies them; nothing is written. */
  add(rows: Rows): void
  /** Writes a block of what was copied, if one is full; resolves to its bytes. */
  writeFull(): Promise<number>
  /** Resolves when all is on the disk. */
  close(more?: Partial<Pick<SavedPart, 'rows' | 'workSeconds'>>): Promise<SavedPart>
  abandon(): Promise<void>
}

/** Signs are in one file, whole rows in the other, in the same order. */
export async function createPart({ aside, table, number, onRows, clock }: PartOptions): Promise<OpenPart> {
  const names = ['signs', 'rows'].map((kind) => `table-${table}.part-${number}.${kind}`) as [string, string]
  const signsTo = await BlockWriter.create(join(aside, names[0]), clock)
  const valuesTo = await BlockWriter.create(join(aside, names[1]), clock).catch(async (error) => {
    await signsTo.abandon()
    throw error
  })
  let count = 0
  return {
    add: ({ signs, rows }) => {
      signsTo.add(new Uint8Array(signs.buffer, signs.byteOffset, signs.byteLength))
      valuesTo.add(rows)
      count += signs.length
      onRows?.(count)
    },
    writeFull: async () => (await signsTo.writeFull()) || valuesTo.writeFull(),
    close: async ({ rows = count, workSeconds = 0 } = {}) => {
      const files = { [names[0]]: await signsTo.close(), [names[1]]: await valuesTo.close() }
      const work = workSeconds + (signsTo.workMs + valuesTo.workMs) / 1000
      return { table, part: { rows: count, signs: names[0], values: names[1] }, files, rows, workSeconds: work }
    },
    abandon: async () => {
      await signsTo.abandon()
      await valuesTo.abandon()
    },
  }
}

/** What a failed save says: of a full disk how much is free. */
export async function saveError(
  error: NodeJS.ErrnoException,
  folder: string,
  { kept = false, needed }: { readonly kept?: boolean; readonly needed?: number } = {},
): Promise<Error> {
  if (isUserError(error)) return error
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    const space = await statfs(join(folder, '..')).catch(() => undefined)
    return diskFull(error, folder, { needed, free: space && space.bavail * space.bsize, kept })
  }
  // A server that is gone while its rows are gathered is not the folder's fault.
  return error.code === undefined ? error : cannotWrite(error, folder)
}
