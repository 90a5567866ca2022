/** @file What initServer(dirname) loads: the rows of saved tables that belong to this server. Dense weights begin anew, as in Paddle. */
import type { Cluster } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import { type KernelStore, type TableTask, type TableTaskAnswer, TableTasks } from '../../training/ps/index.ts'
import { isPaddleFolder } from '../../weights/params/index.ts'
import { openSnapshot, savedRows, tableStateFits, withoutState } from '../../weights/snapshot/index.ts'
import { type Placement, type SparseTable, serverOf } from '../../weights/table/index.ts'

export interface LoadTablesOptions {
  readonly store: KernelStore
  readonly cluster: Cluster
  readonly placement: Placement
  readonly dirname: string
  /** @default all tables */
  readonly varNames?: readonly string[] | undefined
  readonly emit: EventSink
}

export async function loadTables(options: LoadTablesOptions): Promise<void> {
  const { store, cluster, dirname, varNames, emit } = options
  const names = store.params.tables.map(({ name }) => name)
  checkNames(varNames ?? [], names)
  const taken = (await isPaddleFolder(dirname)) ? await loadTexts(options) : await loadRows(options)
  emit({ kind: 'notice', message: `server[${cluster.rank}] has loaded ${taken} rows from ${dirname}` })
}

/** Out of Paddle's text files. */
async function loadTexts({ store, cluster, placement, dirname: folder, varNames }: LoadTablesOptions): Promise<number> {
  const named = store.params.tables.map(({ name }, number) => ({ name, number }))
  const tables = named.filter(({ name }) => varNames?.includes(name) ?? true).map(({ number }) => number)
  const tasks = new TableTasks(store, placement, cluster.rank)
  const task = Buffer.from(JSON.stringify({ id: 'initServer', kind: 'load', folder, tables } satisfies TableTask))
  for (;;) {
    const [text] = await tasks.handle(task)
    const { done, rows } = JSON.parse(Buffer.from(text!).toString('utf8')) as TableTaskAnswer
    if (done) return Object.values(rows).reduce((sum, count) => sum + count, 0)
  }
}

/** Out of a checkpoint. */
async function loadRows({ store, cluster, placement, dirname, varNames }: LoadTablesOptions): Promise<number> {
  const snapshot = await openSnapshot(dirname, 'fleet.initServer')
  const isOwn = (sign: bigint) => placement.servers === 1 || serverOf(sign, placement) === cluster.rank
  let taken = 0
  for (const [t, table] of store.params.tables.entries()) {
    if (varNames && !varNames.includes(table.name)) continue
    const saved = snapshot.manifest.tables.find(({ name }) => name === table.name)
    if (saved?.dim !== table.dim) throw otherTable(dirname, table, saved && `with ${saved.dim} values a row`)
    if (saved.dtype !== table.precision) throw otherTable(dirname, table, `in ${saved.dtype}`)
    const same = tableStateFits(saved, table, store.params.handle.tables[t]!.optimizer)
    for await (const { signs, rows } of savedRows(snapshot, saved)) {
      const fitting = same ? rows.slice() : withoutState(rows, saved, table, store.steps)
      // The server's steps begin anew, so rows that remember the step of their last update do too.
      if (same && table.rule.clocked) setClocks(fitting, table.rowBytes, store.steps)
      const own = ownRows(signs, fitting, table.rowBytes, isOwn)
      store.load(t, own)
      taken += own.signs.length
    }
  }
  return taken
}

function ownRows(signs: BigUint64Array, rows: Uint8Array, rowBytes: number, isOwn: (sign: bigint) => boolean) {
  let kept = 0
  const keptSigns = new BigUint64Array(signs.length)
  for (const [i, sign] of signs.entries()) {
    if (!isOwn(sign)) continue
    keptSigns[kept] = sign
    rows.copyWithin(kept * rowBytes, i * rowBytes, (i + 1) * rowBytes)
    kept++
  }
  return { signs: keptSigns.subarray(0, kept), rows: rows.subarray(0, kept * rowBytes) }
}

function setClocks(rows: Uint8Array, rowBytes: number, steps: number): void {
  const words = new Uint32Array(rows.buffer, rows.byteOffset, rows.byteLength / 4)
  for (let at = rowBytes / 4 - 1; at < words.length; at += rowBytes / 4) words[at] = steps
}

function checkNames(given: readonly string[], known: readonly string[]): void {
  const unknown = given.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw new UserError(
    `fleet.init server can only load sparse variables in [${known.map((name) => `'${name}'`).join(', ')}]; it was asked for ${unknown.join(', ')}`,
    { code: 'FLEET_TABLE', hint: 'name tables of the program, or leave varNames out to load all of them' },
  )
}

function otherTable(
  dirname: string,
  { name, dim, precision }: Pick<SparseTable, 'name' | 'dim' | 'precision'>,
  saved: string | undefined,
): UserError {
  const there = saved === undefined ? 'has no such table' : `has it ${saved}`
  const here = precision === 'float32' ? '' : ` in ${precision}`
  return new UserError(`fleet.initServer: table ${name} has ${dim} values a row${here}, ${dirname} ${there}`, {
    code: 'FLEET_TABLE',
    hint: 'load what the same program has saved, or name the tables to load: initServer(dirname, { varNames: [...] })',
  })
}
