/** @file Finds and opens indexes: one in a folder, or the newest of those by epoch below it. Parts of another model are refused. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createVectors, setVectors, type VectorMemory } from '../../base/kernel/index.ts'
import { indexSigns, type LoadedExport, MANIFEST, readExport, type SignIndex } from '../export/index.ts'
import { CENTRES, ITEMS, OFFSETS } from './build.ts'
import { damaged, notVectors, otherModel } from './errors.ts'
import { type IndexManifest, type ModelMark, readManifest, readNpy, readVectors } from './vectors.ts'

/** An index in memory: plain data and shared memory, so that it goes to other threads by postMessage. */
export interface LoadedIndex {
  readonly folder: string
  readonly manifest: IndexManifest
  /** What makes a user's vector. */
  readonly user?: LoadedExport | undefined
  readonly items: VectorMemory
  /** By row. */
  readonly ids: BigUint64Array
  /** The row of an id. */
  readonly rows: SignIndex
  readonly lists?: { readonly centres: VectorMemory; readonly offsets: Uint32Array } | undefined
}

/** Where an index lies, and a mark that changes when it is replaced. */
export interface FoundIndex {
  readonly folder: string
  readonly mark: string
}

/** The index in `path`, or the one of the highest epoch below it; undefined where there is none. */
export async function findIndex(path: string): Promise<FoundIndex | undefined> {
  const names = (await readdir(path).catch(() => [])).filter((name) => /^(0|[1-9]\d*)$/.test(name))
  const epochs = names.map(Number).sort((a, b) => b - a)
  for (const folder of [path, ...epochs.map((epoch) => join(path, String(epoch)))]) {
    const found = await stat(join(folder, MANIFEST)).catch(() => undefined)
    if (found?.isFile()) return { folder, mark: `${folder} ${found.ino} ${found.mtimeMs} ${found.size}` }
  }
  return undefined
}

/** As findIndex, for a path that must hold one. */
export async function locateIndex(path: string): Promise<FoundIndex> {
  const found = await findIndex(path)
  if (!found) throw notVectors(path, 'an index', 'there is neither manifest.json nor <epoch>/manifest.json')
  return found
}

/** The index at `path` in memory; every file is compared with its checksum. */
export async function openIndex(path: string): Promise<LoadedIndex> {
  return readIndex((await locateIndex(path)).folder)
}

export async function readIndex(folder: string): Promise<LoadedIndex> {
  const manifest = await readManifest(folder, 'oarfish-index')
  const { count, dim } = manifest
  const read = await readVectors(join(folder, ITEMS))
  refuseOther(`the items in ${folder} are`, facts(read.manifest), facts(manifest))
  const user = manifest.user && (await readExport(join(folder, manifest.user.folder)))
  if (user) refuseOther(`the part for users in ${folder} is`, userFacts(user), facts(manifest))
  const items = createVectors(count, dim)
  setVectors(items, 0, read.data)
  const ids = new BigUint64Array(new SharedArrayBuffer(8 * count))
  ids.set(read.ids)
  const rows = indexSigns(new Uint32Array(ids.buffer), count)
  return { folder, manifest, user, items, ids, rows, lists: await readLists(folder, manifest) }
}

async function readLists(folder: string, manifest: IndexManifest): Promise<LoadedIndex['lists']> {
  const { lists, dim, count } = manifest
  if (!lists) return undefined
  const { data } = await readNpy<Float32Array>(folder, manifest, CENTRES, [lists.count, dim])
  const { data: given } = await readNpy<BigUint64Array>(folder, manifest, OFFSETS, [lists.count + 1])
  const offsets = Uint32Array.from(given, Number)
  const isOrdered = offsets.every((at, i) => i === 0 || at >= offsets[i - 1]!)
  if (offsets[0] !== 0 || offsets.at(-1) !== count || !isOrdered)
    throw damaged(join(folder, OFFSETS), `its numbers are not from 0 to the ${count} items`)
  const centres = createVectors(lists.count, dim)
  setVectors(centres, 0, data)
  return { centres, offsets }
}

interface Facts extends Partial<ModelMark> {
  readonly dim?: number | undefined
  readonly count?: number | undefined
  readonly kind?: string | undefined
}

const facts = ({
  model,
  dim,
  count,
}: {
  readonly model: ModelMark
  readonly dim: number
  readonly count: number
}): Facts => ({
  ...model,
  dim,
  count,
})

/** What an export says of its model. */
function userFacts({ manifest: { epoch, steps, seed, outputs, score } }: LoadedExport): Facts {
  const shape = outputs.find(({ name }) => name === score.output)?.shape ?? []
  return { epoch, steps, seed, dim: Number(shape.at(-1)) }
}

/** Throws where `found` says something else than `expected`. */
export function refuseOther(what: string, found: Facts, expected: Facts): void {
  const keys = Object.keys(found) as (keyof Facts)[]
  const differing = keys.filter((key) => found[key] !== expected[key])
  if (differing.length > 0)
    throw otherModel(
      what,
      differing.map((key) => `${key} is ${String(found[key])}, not ${String(expected[key])}`),
    )
}
