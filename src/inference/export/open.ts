/** @file Finds and opens exports: one in a folder, or the newest of those by epoch below it. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { readSmallText } from '../../base/fs/index.ts'
import { damagedExport, notAnExport, notFound } from './errors.ts'
import { type ExportManifest, hexOf, MANIFEST, parseExportManifest } from './manifest.ts'
import { readTableFile, type TableMemory } from './table-file.ts'

/** An export in memory: plain data and shared memory, so that it goes to other threads by postMessage. */
export interface LoadedExport {
  readonly folder: string
  readonly manifest: ExportManifest
  readonly model: Uint8Array
  readonly tables: readonly TableMemory[]
  /** Which published version it is, where it is one. */
  readonly version?: string | undefined
}

/** Where an export lies, and a mark that changes when it is replaced. */
export interface FoundExport {
  readonly folder: string
  readonly mark: string
}

/** Exports that training leaves inside the checkpoint of an epoch. */
export const INFERENCE_FOLDER = 'inference'

/** The export in `path`, or the one of the highest epoch below it (`path/<epoch>` or `path/<epoch>/inference`); undefined where there is none. */
export async function findExport(path: string): Promise<FoundExport | undefined> {
  const own = await markOf(path)
  if (own) return own
  const names = await readdir(path).catch(() => [])
  const epochs = names
    .filter((name) => /^(0|[1-9]\d*)$/.test(name))
    .map(Number)
    .sort((a, b) => b - a)
  for (const epoch of epochs) {
    const folder = join(path, String(epoch))
    const found = (await markOf(folder)) ?? (await markOf(join(folder, INFERENCE_FOLDER)))
    if (found) return found
  }
  return undefined
}

/** As findExport, for a path that must hold one. */
export async function locateExport(path: string): Promise<FoundExport> {
  const found = await findExport(path)
  if (!found) throw await nothingThere(path)
  return found
}

/** The export at `path` in memory; every file is compared with its checksum. */
export async function openExport(path: string): Promise<LoadedExport> {
  return readExport((await locateExport(path)).folder)
}

export async function readExport(folder: string): Promise<LoadedExport> {
  const file = join(folder, MANIFEST)
  const text = await readSmallText(file).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EFBIG' || error.code === 'ENOTFILE' ? damagedExport(file, error.message) : error
  })
  const manifest = parseExportManifest(text, file)
  return {
    folder,
    manifest,
    model: await readChecked(folder, manifest, manifest.model.file),
    tables: await Promise.all(
      manifest.tables.map(async ({ file }) =>
        readTableFile(join(folder, file), (await foundFile(manifest, folder, file)).mark),
      ),
    ),
  }
}

/** A small file of an export whose checksum is right. */
export async function readChecked(folder: string, manifest: ExportManifest, file: string): Promise<Uint8Array> {
  const { mark, size } = await foundFile(manifest, folder, file)
  // By its size first: what the manifest does not speak of is not read.
  const bytes = size === mark.bytes ? await readFile(join(folder, file)) : undefined
  if (bytes?.length !== mark.bytes || hexOf(crc32(bytes)) !== mark.crc32)
    throw damagedExport(join(folder, file), 'its checksum does not match: it was altered or cut off')
  return new Uint8Array(bytes)
}

/** What the manifest says of a file that is there. */
async function foundFile(manifest: ExportManifest, folder: string, file: string) {
  const mark = manifest.files[file]
  if (!mark) throw damagedExport(join(folder, file), 'the manifest has no checksum for it')
  const found = await stat(join(folder, file)).catch(() => undefined)
  if (!found?.isFile()) throw damagedExport(join(folder, file), 'it is missing, or no plain file')
  return { mark, size: found.size }
}

/** Checkpoints have a manifest.json too, so its format decides. */
async function markOf(folder: string): Promise<FoundExport | undefined> {
  const file = join(folder, MANIFEST)
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) return undefined
  const text = await readSmallText(file).catch(() => '')
  if (/"format":\s*"oarfish-checkpoint"/.test(text)) return undefined
  return { folder, mark: `${folder} ${found.ino} ${found.mtimeMs} ${found.size}` }
}

async function nothingThere(path: string): Promise<Error> {
  const found = await stat(path).catch(() => undefined)
  return found && !found.isDirectory() ? notAnExport(path, 'it is a file, not a folder') : notFound(path)
}
