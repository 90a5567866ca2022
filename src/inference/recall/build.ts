/** @file Writes an index: items in the order of their lists, the part of the model that makes a user's vector, and a manifest that ties them together. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createVectors, mostVectors, setVectors } from '../../base/kernel/index.ts'
import { emptyItems, tooMany } from './errors.ts'
import { calibrate, makeLists } from './lists.ts'
import {
  fillVectors,
  type INDEX_KINDS,
  type IndexManifest,
  type ModelMark,
  putFolder,
  type Vectors,
  writeManifest,
  writeNpy,
} from './vectors.ts'

/** Up to so many items all of them are looked at: a few milliseconds. */
const EXACT_ITEMS = 100_000
/** Queries that an approximate index is measured with. */
const QUERIES = 256

export interface WriteIndexOptions {
  readonly folder: string
  readonly items: Vectors
  readonly model: ModelMark
  /** Writes the part of the model that makes a user's vector into the folder that it is given. @default the index has items alone */
  readonly user?: { readonly interests: number; write(folder: string): Promise<unknown> } | undefined
  /** Vectors of some users, to measure with. @default some items */
  readonly queries?: Vectors | undefined
  /** Slots of users that hold ids of items. @default none */
  readonly seen?: readonly string[] | undefined
  /** @default exact for up to 100,000 items */
  readonly kind?: (typeof INDEX_KINDS)[number] | undefined
  /** Of the 50 nearest, the share that an approximate index finds. @default 0.95 */
  readonly recall?: number | undefined
}

export async function writeIndex(options: WriteIndexOptions): Promise<IndexManifest> {
  const { folder, items, model, user, seen = [] } = options
  const { dim, ids } = items
  if (ids.length === 0) throw emptyItems('the folder of vectors')
  if (ids.length > mostVectors(dim)) throw tooMany(ids.length, mostVectors(dim))
  const kind = options.kind ?? (ids.length <= EXACT_ITEMS ? 'exact' : 'approximate')
  return await putFolder(folder, 'oarfish-index', async (aside) => {
    await mkdir(join(aside, ITEMS))
    const listed = kind === 'approximate' ? listedItems(options) : undefined
    const { centres, offsets } = listed ?? {}
    await fillVectors(join(aside, ITEMS), { ...(listed?.items ?? items), kind: 'item', model })
    const files = centres &&
      offsets && {
        [CENTRES]: await writeNpy(join(aside, CENTRES), centres, [centres.length / dim, dim]),
        [OFFSETS]: await writeNpy(join(aside, OFFSETS), BigUint64Array.from(offsets, BigInt), [offsets.length]),
      }
    await user?.write(join(aside, USER))
    return await writeManifest<IndexManifest>(aside, {
      format: 'oarfish-index',
      kind,
      model,
      count: ids.length,
      dim,
      lists: listed?.lists,
      user: user && { folder: USER, interests: user.interests },
      seen: [...seen],
      files: files ?? {},
    })
  })
}

export const ITEMS = 'items'
export const USER = 'user'
export const CENTRES = 'centres.npy'
export const OFFSETS = 'offsets.npy'

function listedItems({ items, queries, recall: wanted = 0.95 }: WriteIndexOptions) {
  const { dim } = items
  const { centres, lists } = makeLists(items.data, dim)
  const count = centres.length / dim
  const offsets = new Uint32Array(count + 1)
  for (const list of lists) offsets[list + 1]!++
  for (let list = 0; list < count; list++) offsets[list + 1]! += offsets[list]!
  const next = offsets.slice()
  const [data, ids] = [new Float32Array(items.data.length), new BigUint64Array(items.ids.length)]
  lists.forEach((list, row) => {
    const place = next[list]!++
    ids[place] = items.ids[row]!
    data.set(items.data.subarray(row * dim, (row + 1) * dim), place * dim)
  })
  const [vectors, middle] = [createVectors(ids.length, dim), createVectors(count, dim)]
  setVectors(vectors, 0, data)
  setVectors(middle, 0, centres)
  const asked = queries ?? spread(items)
  const { probes, recall } = calibrate(vectors, { centres: middle, offsets }, asked, wanted)
  return {
    items: { ...items, ids, data },
    centres,
    offsets,
    lists: { count, probes, recall50: Number(recall.toFixed(4)) },
  }
}

/** Some items from all over. */
function spread({ data, dim, ids }: Vectors) {
  const every = Math.max(1, Math.floor(ids.length / QUERIES))
  const rows = Array.from({ length: Math.min(QUERIES, ids.length) }, (_, i) => i * every)
  return { data: Float32Array.from(rows.flatMap((row) => [...data.subarray(row * dim, (row + 1) * dim)])) }
}
