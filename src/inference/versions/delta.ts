/** @file A delta as a folder: manifest.json, the changes of each table, and the graph with its dense weights. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { createFile } from '../../base/fs/index.ts'
import { type FileMark, hexOf, MANIFEST } from '../export/index.ts'
import { parseTableChanges, ROW_FORMS, type RowForm, type TableChanges, tableChangesFile } from './delta-table.ts'
import { damagedDelta } from './errors.ts'

export const DELTA_FORMAT = 'oarfish-delta'
const VERSION = 1

const whole = z.int().min(0)
const manifest = z.object({
  format: z.literal(DELTA_FORMAT),
  version: z.literal(VERSION),
  sequence: whole,
  day: z.string(),
  pass: whole,
  follows: z.string(),
  base: z.string(),
  /** Optimizer steps so far. */
  steps: whole,
  model: z.object({ file: z.string() }),
  tables: z.array(
    z.object({
      name: z.string(),
      dim: whole,
      file: z.string(),
      rows: whole,
      gone: whole,
      form: z.enum(ROW_FORMS),
      /** The largest difference between a row as it was trained and as it is here. */
      maxError: z.number(),
      /** Of all rows of the table once this delta is applied. */
      digest: z.string(),
    }),
  ),
  files: z.record(z.string(), z.object({ bytes: whole, crc32: z.string() })),
})

export type DeltaManifest = z.infer<typeof manifest>

export interface WriteDeltaOptions
  extends Pick<DeltaManifest, 'sequence' | 'day' | 'pass' | 'follows' | 'base' | 'steps'> {
  /** A folder that exists and is empty. */
  readonly folder: string
  readonly model: Uint8Array
  readonly tables: readonly (TableChanges & {
    readonly name: string
    readonly form: RowForm
    readonly maxError: number
    readonly digest: string
  })[]
}

/** Returns the checksum of the manifest, which has those of all files, and the bytes of all. */
export async function writeDelta(
  options: WriteDeltaOptions,
): Promise<{ readonly crc32: string; readonly bytes: number }> {
  const { folder, model, tables, sequence, day, pass, follows, base, steps } = options
  const parts: Record<string, readonly Uint8Array[]> = { [MODEL]: [model] }
  for (const [i, table] of tables.entries()) parts[tableFile(i)] = tableChangesFile(table, table.form)
  const files = Object.fromEntries(Object.entries(parts).map(([name, own]) => [name, markOf(own)]))
  const content: DeltaManifest = {
    ...{ format: DELTA_FORMAT, version: VERSION, sequence, day, pass, follows, base, steps },
    model: { file: MODEL },
    tables: tables.map(({ name, dim, signs, gone, form, maxError, digest }, i) => ({
      ...{ name, dim, file: tableFile(i), rows: signs.length, gone: gone.length, form, maxError, digest },
    })),
    files,
  }
  const text = [Buffer.from(`${JSON.stringify(content, null, 2)}\n`)]
  // All at once, since a disk takes its time to say that it has one; whoever gave the folder makes it seen when it has all.
  const all = Object.entries({ ...parts, [MANIFEST]: text })
  const written = await Promise.allSettled(all.map(([name, own]) => writeParts(join(folder, name), own)))
  for (const one of written) if (one.status === 'rejected') throw one.reason
  const own = markOf(text)
  const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, own.bytes)
  return { crc32: own.crc32, bytes }
}

const MODEL = 'model.onnx'
const tableFile = (i: number) => `table-${i}.delta`

function markOf(parts: readonly Uint8Array[]): FileMark {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0)
  return { bytes, crc32: hexOf(parts.reduce((crc, part) => crc32(part, crc), 0)) }
}

async function writeParts(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const file = await createFile(path)
  try {
    for (const part of parts) await file.write(part)
  } finally {
    await file.close()
  }
}

/** A delta in memory. */
export interface Delta {
  readonly manifest: DeltaManifest
  readonly model: Uint8Array
  readonly tables: readonly TableChanges[]
  /** Of its manifest. */
  readonly crc32: string
}

/** Every file is compared with its checksum. */
export async function readDelta(folder: string): Promise<Delta> {
  const path = join(folder, MANIFEST)
  const text = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw damagedDelta(path, error.code === 'ENOENT' ? 'it is missing' : error.message)
  })
  const parsed = manifest.safeParse(jsonOf(text.toString('utf8')))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw damagedDelta(path, `${issue?.path.join('.')}: ${issue?.message}`)
  }
  const own = parsed.data
  const read = async (file: string) => {
    const at = join(folder, file)
    const mark = own.files[file]
    if (!mark) throw damagedDelta(at, 'the manifest has no checksum for it')
    const found = await stat(at).catch(() => undefined)
    const data = found?.isFile() && found.size === mark.bytes ? await readFile(at) : undefined
    if (!data || hexOf(crc32(data)) !== mark.crc32)
      throw damagedDelta(at, found ? 'its checksum does not match: it was altered or cut off' : 'it is missing')
    return new Uint8Array(data)
  }
  const tables = await Promise.all(
    own.tables.map(async ({ file }) => parseTableChanges(await read(file), join(folder, file))),
  )
  return { manifest: own, model: await read(own.model.file), tables, crc32: hexOf(crc32(text)) }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
