/** @file A server's part of a checkpoint: it writes its own rows, straight into the folder that worker 0 fills. */
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processEnv } from '../../base/env/index.ts'
import { noteForLauncher } from '../../base/event/index.ts'
import {
  checkMessage,
  fields,
  list,
  oneOf,
  optional,
  type Reader,
  record,
  text,
  truth,
  whole,
} from '../../base/net/index.ts'
import type { OwnParts, SavedPart } from '../../weights/snapshot/index.ts'
import { type Placement, serverOf } from '../../weights/table/index.ts'
import type { KernelStore } from './kernel-store.ts'
import type { RowBlock } from './store.ts'

interface InFolder {
  readonly folder: string
  readonly tables: readonly number[]
}

export type CheckpointTask =
  /** Whether a file of worker 0's folder is there under the same path, with the same words. */
  | (InFolder & { readonly kind: 'sees'; readonly file: string; readonly words: string })
  /** Writes all rows. */
  | (InFolder & { readonly kind: 'checkpoint' })
  /** Takes rows as they are now: all, or those that changed since the last time. Workers may train when it is done. */
  | (InFolder & { readonly kind: 'begin'; readonly changed: boolean })
  /** Writes what was taken. */
  | (InFolder & { readonly kind: 'finish' })
  /** Whether this checkpoint is there under the same path. */
  | (InFolder & { readonly kind: 'holds'; readonly savedAt: string })
  /** Reads this server's rows out of a checkpoint. */
  | (InFolder & { readonly kind: 'fill' })
  /** Whether rows have gone since changes were last forgotten. */
  | (Pick<InFolder, 'tables'> & { readonly kind: 'changes' })
  /** What changed so far is kept; with `begins` the job begins, and will make cuts. */
  | (Pick<InFolder, 'tables'> & { readonly kind: 'forget'; readonly begins: boolean })

export interface CheckpointOutcome {
  readonly sees?: boolean | undefined
  readonly wholly?: boolean | undefined
  readonly parts?: readonly SavedPart[] | undefined
}

interface Common {
  readonly id: Reader<string>
  readonly tables: Reader<readonly number[]>
}

const path = text(4096)
const name = text(256)

export const checkpointReaders = (common: Common) => ({
  sees: fields({ ...common, kind: oneOf(['sees']), folder: path, file: name, words: name }),
  checkpoint: fields({ ...common, kind: oneOf(['checkpoint']), folder: path }),
  begin: fields({ ...common, kind: oneOf(['begin']), folder: path, changed: truth }),
  finish: fields({ ...common, kind: oneOf(['finish']), folder: path }),
  holds: fields({ ...common, kind: oneOf(['holds']), folder: path, savedAt: name }),
  fill: fields({ ...common, kind: oneOf(['fill']), folder: path }),
  changes: fields({ ...common, kind: oneOf(['changes']) }),
  forget: fields({ ...common, kind: oneOf(['forget']), begins: truth }),
})

const KINDS: ReadonlySet<string> = new Set<CheckpointTask['kind']>([
  'sees',
  'checkpoint',
  'begin',
  'finish',
  'holds',
  'fill',
  'changes',
  'forget',
])

export const isCheckpointTask = <T extends { readonly kind: string }>(task: T): task is Extract<T, CheckpointTask> =>
  KINDS.has(task.kind)

const count = whole(0, Number.MAX_SAFE_INTEGER)
const seconds: Reader<number> = (value, at) => {
  checkMessage(typeof value === 'number' && value >= 0, `${at} is no time`)
  return value
}
const readPart = fields<SavedPart>({
  table: whole(0, 65_535),
  part: fields({ rows: count, signs: name, values: name }),
  files: record(fields({ bytes: count, crc32: text(8) }), 2),
  rows: count,
  workSeconds: optional(seconds),
})
export const readOutcome = fields<CheckpointOutcome>({
  sees: optional(truth),
  wholly: optional(truth),
  parts: optional(list(readPart, 65_536)),
})

type Handlers = {
  readonly [K in CheckpointTask['kind']]: (
    task: Extract<CheckpointTask, { readonly kind: K }>,
    rows: Record<number, number>,
  ) => Promise<CheckpointOutcome>
}

/** One task after the other, as they are asked for. `rows` is filled with how many of each table are written. */
export class CheckpointTasks {
  readonly #store: KernelStore
  readonly #placement: Placement
  readonly #server: number
  /** By folder. */
  readonly #begun = new Map<string, OwnParts>()
  readonly #handlers: Handlers = {
    sees: async ({ folder, file, words }) => ({ sees: await sees(folder, file, words) }),
    checkpoint: (task, rows) => this.#write(task, rows),
    begin: (task) => this.#begin(task),
    finish: (task) => this.#finish(task),
    holds: async ({ folder, savedAt }) => ({ sees: await holds(folder, savedAt) }),
    fill: (task, rows) => this.#fill(task, rows),
    changes: async () => ({ wholly: this.#store.params.tables.some((table) => table.isChangedWholly) }),
    forget: async ({ begins }) => {
      this.#store.forgetChanges()
      if (begins) note('begun')
      return {}
    },
  }

  constructor(store: KernelStore, placement: Placement, server: number) {
    this.#store = store
    this.#placement = placement
    this.#server = server
  }

  run<T extends CheckpointTask>(task: T, rows: Record<number, number>): Promise<CheckpointOutcome> {
    const handler = this.#handlers[task.kind] as (task: T, rows: Record<number, number>) => Promise<CheckpointOutcome>
    return handler(task, rows)
  }

  #write({ folder: aside, tables }: InFolder, rows: Record<number, number>): Promise<CheckpointOutcome> {
    return saving(aside, async ({ savePart }) => {
      const parts: SavedPart[] = []
      for (const table of tables) {
        const onRows = (done: number) => {
          rows[table] = done
        }
        parts.push(await savePart({ aside, table, number: this.#server, onRows }, this.#store.scan(table)))
      }
      return { parts }
    })
  }

  #begin({ folder: aside, tables, changed }: InFolder & { readonly changed: boolean }): Promise<CheckpointOutcome> {
    return saving(aside, async ({ beginParts }) => {
      // Of cuts that failed elsewhere and were never finished.
      for (const left of this.#begun.values()) await left.abandon()
      this.#begun.clear()
      const numbered = tables.map((table) => [table, this.#store.params.tables[table]!] as const)
      this.#begun.set(aside, await beginParts({ aside, number: this.#server, tables: numbered, changed }))
      note('taken')
      return {}
    })
  }

  async #fill({ folder, tables }: InFolder, done: Record<number, number>): Promise<CheckpointOutcome> {
    const { openSnapshot, savedRows } = await import('../../weights/snapshot/index.ts')
    const snapshot = await openSnapshot(folder, '')
    // Where there were as many servers as now, each finds its rows in parts of its own.
    const isMine = (sign: bigint) => serverOf(sign, this.#placement) === this.#server
    const wanted = this.#placement.servers === 1 ? undefined : isMine
    for (const table of tables) {
      const { name: own, rowBytes } = this.#store.params.tables[table]!
      const saved = snapshot.manifest.tables.find(({ name }) => name === own)
      checkMessage(saved?.rowBytes === rowBytes, `rows of ${own} are others in ${folder}`)
      for await (const block of savedRows(snapshot, saved, wanted)) {
        const mine = this.#owned(block, rowBytes)
        this.#store.load(table, mine)
        done[table] = (done[table] ?? 0) + mine.signs.length
      }
    }
    return {}
  }

  /** Those rows of a block that this server keeps, moved to its front. */
  #owned({ signs, rows }: RowBlock, rowBytes: number): RowBlock {
    if (this.#placement.servers === 1) return { signs, rows }
    let kept = 0
    for (let i = 0; i < signs.length; i++) {
      if (serverOf(signs[i]!, this.#placement) !== this.#server) continue
      if (kept < i) {
        signs[kept] = signs[i]!
        rows.copyWithin(kept * rowBytes, i * rowBytes, (i + 1) * rowBytes)
      }
      kept++
    }
    return { signs: signs.subarray(0, kept), rows: rows.subarray(0, kept * rowBytes) }
  }

  #finish({ folder }: InFolder): Promise<CheckpointOutcome> {
    return saving(folder, async () => {
      const begun = this.#begun.get(folder)
      checkMessage(begun !== undefined, 'finish without begin')
      this.#begun.delete(folder)
      return { parts: await begun.finish() }
    })
  }
}

const note = (what: Parameters<typeof noteForLauncher>[1]) => noteForLauncher(processEnv()['OARFISH_LOG_FILE'], what)

async function holds(folder: string, savedAt: string): Promise<boolean> {
  const { openSnapshot } = await import('../../weights/snapshot/index.ts')
  return openSnapshot(folder, '').then(
    ({ manifest }) => manifest.savedAt === savedAt,
    () => false,
  )
}

type Saving = Pick<typeof import('../../weights/snapshot/index.ts'), 'savePart' | 'beginParts'>

/** What fails on this host's disk is said in its words. Loaded here: trainer threads load this folder as well, and save nothing. */
async function saving<T>(folder: string, work: (snapshot: Saving) => Promise<T>): Promise<T> {
  const snapshot = await import('../../weights/snapshot/index.ts')
  try {
    return await work(snapshot)
  } catch (error) {
    throw await snapshot.saveError(error as NodeJS.ErrnoException, folder)
  }
}

async function sees(folder: string, file: string, words: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK)
    return (await readFile(join(folder, file), 'utf8')) === words
  } catch {
    return false
  }
}
