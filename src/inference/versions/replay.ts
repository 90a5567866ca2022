/** @file A version built anew: its base, then every delta up to it, each compared with what its manifest says. */
import { type LoadedExport, readExport } from '../export/index.ts'
import { readDelta } from './delta.ts'
import { brokenChain, damagedDelta } from './errors.ts'
import { chainOf, type Version, versionId, versionName } from './log.ts'
import { PublishedRows } from './published-rows.ts'
import type { VersionSource } from './source.ts'

/** The rows of all tables at a version, and the graph with its dense weights. */
export interface Replayed {
  readonly version: Version
  readonly base: LoadedExport
  readonly model: Uint8Array
  readonly tables: readonly PublishedRows[]
}

/** Throws where a version of the chain is missing or damaged, or does not give the rows that its trainer had. */
export async function replay(
  source: Pick<VersionSource, 'folder'>,
  versions: readonly Version[],
  last: Version,
): Promise<Replayed> {
  let reached: Replayed | undefined
  for await (const next of replaySteps(source, versions, last)) reached = next
  return reached!
}

/** The same at each version on the way, the base first. All have the same rows in turn: those of one are gone when the next is asked for. */
export async function* replaySteps(
  source: Pick<VersionSource, 'folder'>,
  versions: readonly Version[],
  last: Version,
): AsyncGenerator<Replayed> {
  const chain = chainOf(versions, last)
  if (!chain) throw brokenChain(versionName(last), 'a version between it and its base is not in versions.jsonl')
  const [first, ...deltas] = chain as [Version, ...Version[]]
  const base = await readExport(await source.folder(first))
  const tables = base.tables.map(({ signs, weights, dim }) => {
    const rows = new PublishedRows(dim)
    rows.putAll({ signs: new BigUint64Array(signs), weights: new Float32Array(weights) })
    return rows
  })
  yield { version: first, base, model: base.model, tables }
  for (const version of deltas) {
    const model = await applyDelta(await source.folder(version), version, tables)
    yield { version, base, model, tables }
  }
}

/** Returns the delta's graph. */
async function applyDelta(folder: string, version: Version, tables: readonly PublishedRows[]): Promise<Uint8Array> {
  const delta = await readDelta(folder)
  if (delta.manifest.follows !== version.follows || delta.manifest.base !== version.base)
    throw damagedDelta(folder, `it follows ${delta.manifest.follows}, and versions.jsonl says ${version.follows}`)
  if (versionId(delta.manifest.follows, [delta.crc32]) !== version.id)
    throw damagedDelta(folder, 'it is another delta than the one that versions.jsonl names')
  for (const [t, changes] of delta.tables.entries()) {
    const rows = tables[t]
    if (!rows || rows.dim !== changes.dim) throw damagedDelta(folder, 'its tables are not those of its base')
    applyChanges(rows, changes)
    if (rows.digest !== delta.manifest.tables[t]!.digest)
      throw damagedDelta(folder, 'applied to what it follows, it does not give the rows that its trainer had')
  }
  return delta.model
}

export function applyChanges(
  rows: PublishedRows,
  changes: Parameters<PublishedRows['putAll']>[0] & { readonly gone: BigUint64Array },
): void {
  for (const sign of changes.gone) rows.remove(Number(sign & 0xffffffffn), Number(sign >> 32n))
  rows.putAll(changes)
}
