/** @file Deltas over a base in memory: layers that threads share, the newest first; a version is a list of them, and none is ever changed. */
import { join } from 'node:path'
import { indexSigns, type LoadedExport, type TableLayer, type TableMemory } from '../export/index.ts'
import { readDelta } from './delta.ts'
import type { TableChanges } from './delta-table.ts'
import { damagedDelta } from './errors.ts'
import { versionId } from './log.ts'
import { PublishedRows, wordsOf } from './published-rows.ts'
import { applyChanges } from './replay.ts'

/** More are put together into one: each is looked through for signs that have not changed. */
const MOST_LAYERS = 6

/** What the log says of a delta. */
export interface ExpectedDelta {
  readonly id: string
  /** The version that it must follow. */
  readonly follows: string
  readonly base: string
}

/** The model with the delta of a folder applied. */
export async function withDelta(loaded: LoadedExport, folder: string, expected: ExpectedDelta): Promise<LoadedExport> {
  const { manifest, model, tables, crc32 } = await readDelta(folder)
  if (manifest.follows !== expected.follows || manifest.base !== expected.base)
    throw damagedDelta(join(folder, 'manifest.json'), `it follows ${manifest.follows}, not ${expected.follows}`)
  if (versionId(manifest.follows, [crc32]) !== expected.id)
    throw damagedDelta(join(folder, 'manifest.json'), 'it is another delta than the one that versions.jsonl names')
  const own = loaded.tables.map((table, t) => {
    const name = loaded.manifest.tables[t]!.name
    const at = manifest.tables.findIndex((other) => other.name === name)
    if (at < 0 || tables[at]!.dim !== table.dim) throw damagedDelta(folder, 'its tables are not those of its base')
    return layered(table, tables[at]!)
  })
  const { steps } = manifest
  return { ...loaded, model, tables: own, manifest: { ...loaded.manifest, steps } }
}

function layered(table: TableMemory, changes: TableChanges): TableMemory {
  if (changes.signs.length + changes.gone.length === 0) return table
  const layers = [layerOf(changes), ...(table.layers ?? [])]
  return { ...table, layers: layers.length > MOST_LAYERS ? [merged(layers, table.dim)] : layers }
}

/** Rows that changed, then signs whose rows went. */
function layerOf({ signs, gone, weights, dim }: TableChanges): TableLayer {
  const rows = signs.length
  const all = new BigUint64Array(new SharedArrayBuffer(8 * (rows + gone.length)))
  all.set(signs)
  all.set(gone, rows)
  const values = new Float32Array(new SharedArrayBuffer(4 * rows * dim))
  values.set(weights)
  const words = new Uint32Array(all.buffer)
  return { rows, signs: all.buffer, weights: values.buffer, index: indexSigns(words, all.length) }
}

/** The newest of each sign. */
function merged(layers: readonly TableLayer[], dim: number): TableLayer {
  const rows = new PublishedRows(dim)
  const gone = new PublishedRows(0)
  const nothing = new Float32Array(0)
  for (const layer of layers.toReversed()) {
    const signs = new BigUint64Array(layer.signs)
    const weights = new Float32Array(layer.weights)
    applyChanges(rows, { signs: signs.subarray(0, layer.rows), weights, gone: signs.subarray(layer.rows) })
    const words = wordsOf(signs)
    for (let i = 0; i < signs.length; i++) {
      if (i < layer.rows) gone.remove(words[2 * i]!, words[2 * i + 1]!)
      else gone.put(words[2 * i]!, words[2 * i + 1]!, nothing, 0)
    }
  }
  return layerOf({ ...rows.sorted(), gone: gone.sorted().signs, dim })
}

/** Rows in all layers of all tables. */
export function layerRows({ tables }: LoadedExport): number {
  return tables.reduce((sum, { layers = [] }) => sum + layers.reduce((all, { rows }) => all + rows, 0), 0)
}
