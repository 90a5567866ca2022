/** @file The rows of all servers into one checkpoint: each server writes its own where it reaches the folder, worker 0 those of the others. */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { EventSink } from '../../base/event/index.ts'
import {
  type BegunParts,
  type Rows,
  type SavedPart,
  type Snapshot,
  savePart,
  tableProgress,
} from '../../weights/snapshot/index.ts'
import { askServers, countsOf, numbersOf, type ServerGroup, serverRows } from '../ps/index.ts'

export interface SaveServersOptions {
  readonly servers: ServerGroup
  /** By their numbers. */
  readonly tables: readonly { readonly name: string }[]
  readonly emit: EventSink
}

/** All rows, into the folder that is being filled; `counts` are those of each table on all servers. No worker may train meanwhile. */
export async function saveServerRows(
  { servers, tables, emit }: SaveServersOptions,
  aside: string,
  counts: readonly number[],
): Promise<readonly SavedPart[]> {
  const folder = resolve(aside)
  const { near, far } = await serversAt(servers, folder)
  const reports = tables.map(({ name }, table) => tableProgress(emit, 'save', name, counts[table]!))
  const task = { kind: 'checkpoint', folder, tables: [...tables.keys()] } as const
  const direct = askServers(servers, near, task, (table, rows) => reports[table]!(rows))
  direct.catch(() => undefined) // thrown below, where it is waited for
  const through = await throughHere(servers, folder, { far, tables: task.tables, changed: false })
  return [...(await direct).flatMap(partsOf), ...through]
}

/** Rows as they are now, all or those that changed, for a folder that is filled while workers train on. */
export async function beginServerRows(
  { servers, tables }: SaveServersOptions,
  aside: string,
  changed: boolean,
): Promise<BegunParts> {
  const folder = resolve(aside)
  const numbers = [...tables.keys()]
  const { near, far } = await serversAt(servers, folder)
  const direct = askServers(servers, near, { kind: 'begin', folder, tables: numbers, changed })
  direct.catch(() => undefined) // thrown below, where it is waited for
  const through = await throughHere(servers, folder, { far, tables: numbers, changed }).finally(() =>
    direct.catch(() => undefined),
  )
  await direct
  if (far.length > 0) await askServers(servers, far, { kind: 'forget', begins: false, tables: [] })
  const finish = async () => {
    const answers = await askServers(servers, near, { kind: 'finish', folder, tables: [] })
    return [...answers.flatMap(partsOf), ...through]
  }
  return { finish }
}

/** Rows of a table on all servers, one after the other; all of them, or those that changed. */
export async function* allServerRows(servers: ServerGroup, table: number, changed: boolean): AsyncGenerator<Rows> {
  for (const server of numbersOf(servers)) yield* serverRows(servers, server, table, changed)
}

/** Each server reads its own rows out of a checkpoint, where all of them reach it; false: not all do. */
export async function loadServerRows(
  { servers, tables, emit }: SaveServersOptions,
  snapshot: Snapshot,
): Promise<boolean> {
  const folder = resolve(snapshot.folder)
  const { savedAt, tables: saved } = snapshot.manifest
  const numbers = numbersOf(servers)
  const seen = await askServers(servers, numbers, { kind: 'holds', folder, savedAt, tables: [] })
  if (!seen.every(({ outcome }) => outcome?.sees)) return false
  const rowsOf = (name: string) => saved.find((table) => table.name === name)?.rows ?? 0
  const reports = tables.map(({ name }) => tableProgress(emit, 'load', name, rowsOf(name)))
  const task = { kind: 'fill', folder, tables: [...tables.keys()] } as const
  await askServers(servers, numbers, task, (table, rows) => reports[table]!(rows))
  return true
}

/** Rows have gone since changes were last forgotten, on any server. */
export async function hasLostRows(servers: ServerGroup): Promise<boolean> {
  const answers = await askServers(servers, numbersOf(servers), { kind: 'changes', tables: [] })
  return answers.some(({ outcome }) => outcome?.wholly)
}

/** What changed so far is kept; `begins`: the job begins, and will make cuts. */
export async function forgetChanges(servers: ServerGroup, begins = false): Promise<void> {
  await askServers(servers, numbersOf(servers), { kind: 'forget', begins, tables: [] })
}

const partsOf = ({ outcome }: Awaited<ReturnType<typeof askServers>>[number]) => outcome?.parts ?? []

async function throughHere(
  servers: ServerGroup,
  aside: string,
  {
    far,
    tables,
    changed,
  }: { readonly far: readonly number[]; readonly tables: readonly number[]; readonly changed: boolean },
): Promise<readonly SavedPart[]> {
  const saved: SavedPart[] = []
  for (const number of far) {
    const counts = await countsOf(servers, number)
    for (const table of tables) {
      const part = await savePart({ aside, table, number }, serverRows(servers, number, table, changed))
      saved.push({ ...part, rows: counts[table]! })
    }
  }
  return saved
}

/** Which servers reach this folder of worker 0 under the same path: each is shown a file with words that nobody can guess. */
async function serversAt(servers: ServerGroup, folder: string) {
  const [file, words] = [`probe-${randomUUID()}`, randomUUID()]
  await writeFile(join(folder, file), words)
  try {
    const numbers = numbersOf(servers)
    const answers = await askServers(servers, numbers, { kind: 'sees', folder, file, words, tables: [] })
    const isNear = (server: number) => answers[server]!.outcome?.sees ?? false
    return { near: numbers.filter(isNear), far: numbers.filter((server) => !isNear(server)) }
  } finally {
    await rm(join(folder, file), { force: true })
  }
}
