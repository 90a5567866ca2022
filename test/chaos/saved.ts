/** @file A checkpoint as docs/reference/checkpoint-format.md has it: how often each sample was trained, and all that is in it, whichever way it is divided into files. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface ManifestTable {
  readonly name: string
  readonly rowBytes: number
  readonly parts: readonly { readonly signs: string; readonly values: string }[]
}

interface SavedManifest {
  readonly steps: number
  readonly dense: { readonly file: string }
  readonly tables: readonly ManifestTable[]
}

const manifestOf = (folder: string): SavedManifest => JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))

/** Rows by sign. */
function rowsOf(folder: string, { rowBytes, parts }: ManifestTable): ReadonlyMap<bigint, Buffer> {
  const rows = new Map<bigint, Buffer>()
  for (const part of parts) {
    const [signs, values] = [readFileSync(join(folder, part.signs)), readFileSync(join(folder, part.values))]
    for (let i = 0; i < signs.length / 8; i++)
      rows.set(signs.readBigUInt64LE(8 * i), values.subarray(i * rowBytes, (i + 1) * rowBytes))
  }
  return rows
}

/** How often each sample was trained, by its id: how far its row of the table `count` moved, in steps of counting.model.ts. */
export function countsOf(folder: string, step = 0.5): ReadonlyMap<bigint, number> {
  const table = manifestOf(folder).tables.find(({ name }) => name === 'count')!
  const rows = rowsOf(folder, table)
  return new Map([...rows].map(([sign, row]) => [sign, -row.readFloatLE(0) / step]))
}

/** SHA-256 of steps, dense weights with their state, and all rows in the order of their signs. */
export function digestOf(folder: string): string {
  const { steps, dense, tables } = manifestOf(folder)
  const hash = createHash('sha256')
    .update(`${steps}`)
    .update(readFileSync(join(folder, dense.file)))
  for (const table of tables) {
    hash.update(table.name)
    const rows = [...rowsOf(folder, table)].sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [sign, row] of rows) hash.update(`${sign}`).update(row)
  }
  return hash.digest('hex')
}
