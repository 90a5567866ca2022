/** @file Rows of a checkpoint that lie in the folders of earlier ones beside it: each holds what changed since the one before. */
import { basename } from 'node:path'
import type { FileMark, ManifestTable } from './manifest.ts'
import type { Snapshot } from './open.ts'

/** What a checkpoint begins with; rows of its own come behind and count instead. */
export interface Chain {
  /** By the name of the table, oldest first. */
  readonly parts: Readonly<Record<string, ManifestTable['parts']>>
  readonly files: Readonly<Record<string, FileMark>>
}

const ELSEWHERE = /^\.\.\/([^/]+)\//

/** Everything that `snapshot` consists of, as the next one beside it names it. */
export function chainOf({ folder, manifest }: Snapshot): Chain {
  const named = (file: string) => (ELSEWHERE.test(file) ? file : `../${basename(folder)}/${file}`)
  const partsOf = (table: ManifestTable) =>
    table.parts.map(({ rows, signs, values }) => ({ rows, signs: named(signs), values: named(values) }))
  const parts = Object.fromEntries(manifest.tables.map((table) => [table.name, partsOf(table)]))
  const all = Object.values(parts).flat()
  const used = new Set(all.flatMap(({ signs, values }) => [signs, values]))
  const files = Object.entries(manifest.files).map(([name, mark]) => [named(name), mark] as const)
  return { parts, files: Object.fromEntries(files.filter(([name]) => used.has(name))) }
}

/** The folders beside a checkpoint that it needs. */
export function foldersOf(files: Chain['files']): string[] {
  return [...new Set(Object.keys(files).flatMap((name) => ELSEWHERE.exec(name)?.[1] ?? []))]
}

/** The folder whose rows it begins with: damaged, it takes along all that build on it. */
export const baseOf = ({ folder, manifest }: Snapshot): string => foldersOf(manifest.files)[0] ?? basename(folder)

const MOST_FOLDERS = 12

/** The next one holds all rows again: what changed is more than half of what it began with, all of which a start would read, or there are many pieces. */
export function isLong({ files }: Chain): boolean {
  const [first, ...later] = foldersOf(files)
  if (later.length + 1 >= MOST_FOLDERS) return true
  const bytesIn = (folder: string | undefined) =>
    Object.entries(files).reduce((sum, [name, { bytes }]) => sum + (name.startsWith(`../${folder}/`) ? bytes : 0), 0)
  return later.reduce((sum, folder) => sum + bytesIn(folder), 0) > bytesIn(first) / 2
}
