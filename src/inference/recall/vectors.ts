/** @file Folders of vectors, `oarfish-vectors`: manifest.json, ids.npy, vectors.npy. docs/reference/vectors-format.md describes them for other languages. */
import { readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { createFile, isReplaceable, readSmallText, writeFolder } from '../../base/fs/index.ts'
import { isUserError, packageFile } from '../../base/util/index.ts'
import { type FileMark, hexOf, MANIFEST } from '../export/index.ts'
import { cannotWrite, damaged, notReplaced, notVectors } from './errors.ts'
import { type Npy, type NpyArray, npyHeader, parseNpy } from './npy.ts'

export const VECTOR_KINDS = ['item', 'user'] as const
export const INDEX_KINDS = ['exact', 'approximate'] as const
const VERSION = 1

const whole = z.int().min(0)
/** What tells one trained model from another. */
const mark = z.object({ name: z.string(), epoch: z.int(), steps: whole, seed: whole, weights: z.string() })
const common = {
  version: z.literal(VERSION),
  createdBy: z.string(),
  createdAt: z.string(),
  model: mark,
  count: whole,
  dim: whole,
  metric: z.literal('inner product'),
  files: z.record(z.string(), z.object({ bytes: whole, crc32: z.string() })),
}

const vectors = z.object({
  format: z.literal('oarfish-vectors'),
  ...common,
  kind: z.enum(VECTOR_KINDS),
  /** Vectors of one user: its rows stand one behind the other. */
  interests: z.int().min(1),
})

const index = z.object({
  format: z.literal('oarfish-index'),
  ...common,
  kind: z.enum(INDEX_KINDS),
  /** Of an approximate one: how many lists there are, how many a search looks into, and what share of the 50 nearest it found so. */
  lists: z.object({ count: whole, probes: whole, recall50: z.number() }).optional(),
  /** The folder with the part of the model that makes a user's vector. */
  user: z.object({ folder: z.string(), interests: z.int().min(1) }).optional(),
  /** Slots of users that hold ids of items. */
  seen: z.array(z.string()),
})

/** Vectors with their ids. */
export interface Vectors {
  readonly ids: BigUint64Array
  /** `interests` rows of `dim` values an id. */
  readonly data: Float32Array
  readonly dim: number
  readonly interests: number
}

export type ModelMark = z.infer<typeof mark>
/** manifest.json of a folder of vectors. */
export type VectorsManifest = z.infer<typeof vectors>
/** manifest.json of an index. */
export type IndexManifest = z.infer<typeof index>
const SCHEMAS = { 'oarfish-vectors': vectors, 'oarfish-index': index } as const
type Format = keyof typeof SCHEMAS

/** A folder of vectors in memory. */
export interface LoadedVectors extends Vectors {
  readonly manifest: VectorsManifest
}

type VectorsOptions = Vectors & Pick<VectorsManifest, 'kind' | 'model'>

/** Writes a folder of vectors, which appears whole. */
export async function writeVectors(folder: string, options: VectorsOptions): Promise<VectorsManifest> {
  return await putFolder(folder, 'oarfish-vectors', (aside) => fillVectors(aside, options))
}

export async function fillVectors(aside: string, { ids, data, dim, interests, kind, model }: VectorsOptions) {
  const files = {
    'ids.npy': await writeNpy(join(aside, 'ids.npy'), ids, [ids.length]),
    'vectors.npy': await writeNpy(join(aside, 'vectors.npy'), data, [data.length / dim, dim]),
  }
  const rest = { kind, model, count: ids.length, dim, interests, files }
  return await writeManifest<VectorsManifest>(aside, { format: 'oarfish-vectors', ...rest })
}

type Given<M> = Omit<M, 'version' | 'createdBy' | 'createdAt' | 'metric'>

export async function writeManifest<M extends VectorsManifest | IndexManifest>(
  aside: string,
  own: Given<M>,
): Promise<M> {
  const { name, version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))
  const { format, ...rest } = own as Given<VectorsManifest>
  const created = { createdBy: `${name} ${version}`, createdAt: new Date().toISOString() }
  const manifest = { format, version: VERSION, ...created, metric: 'inner product', ...rest }
  await writeParts(join(aside, MANIFEST), [Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)])
  return manifest as unknown as M
}

/** Nothing that a user keeps there under another name goes with it. */
export async function putFolder<T>(folder: string, format: Format, fill: (aside: string) => Promise<T>): Promise<T> {
  try {
    if (!(await isReplaceable(folder, { format }))) throw notReplaced(folder)
    return await writeFolder(folder, fill)
  } catch (error) {
    const isSystem = typeof (error as NodeJS.ErrnoException).syscall === 'string'
    throw isUserError(error) || !isSystem ? error : cannotWrite(folder, error as NodeJS.ErrnoException)
  }
}

export async function writeNpy(path: string, data: NpyArray, shape: readonly number[]): Promise<FileMark> {
  return await writeParts(path, [npyHeader(data, shape), new Uint8Array(data.buffer, data.byteOffset, data.byteLength)])
}

async function writeParts(path: string, parts: readonly Uint8Array[]): Promise<FileMark> {
  const file = await createFile(path)
  try {
    for (const part of parts) await file.write(part)
  } finally {
    await file.close()
  }
  const bytes = parts.reduce((sum, part) => sum + part.length, 0)
  return { bytes, crc32: hexOf(parts.reduce((sum, part) => crc32(part, sum), 0)) }
}

/** The folder in memory; every file is compared with its checksum. */
export async function readVectors(folder: string): Promise<LoadedVectors> {
  const manifest = await readManifest(folder, 'oarfish-vectors')
  const { count, dim, interests } = manifest
  const ids = await readNpy<BigUint64Array>(folder, manifest, 'ids.npy', [count])
  const { data } = await readNpy<Float32Array>(folder, manifest, 'vectors.npy', [count * interests, dim])
  return { manifest, ids: ids.data, data, dim, interests }
}

export async function readManifest<F extends Format>(folder: string, format: F): Promise<z.infer<(typeof SCHEMAS)[F]>> {
  const file = join(folder, MANIFEST)
  const what = format === 'oarfish-vectors' ? 'vectors' : 'an index'
  const text = await readSmallText(file).catch((error: NodeJS.ErrnoException) => {
    throw notVectors(file, what, error.code === 'ENOENT' ? 'there is no manifest.json' : error.message)
  })
  const json = parseJson(text)
  if (json?.format !== format)
    throw notVectors(
      file,
      what,
      json ? `its format is ${JSON.stringify(json.format)}, not "${format}"` : 'it is not JSON',
    )
  if (json.version !== VERSION)
    throw notVectors(file, what, `it has format version ${String(json.version)}; this build reads version ${VERSION}`)
  const parsed = SCHEMAS[format].safeParse(json)
  if (parsed.success) return parsed.data as z.infer<(typeof SCHEMAS)[F]>
  const [issue] = parsed.error.issues
  throw notVectors(file, what, `${issue?.path.join('.')}: ${issue?.message}`)
}

function parseJson(text: string): { readonly format?: unknown; readonly version?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** A file that the manifest speaks of, and that has this shape. */
export async function readNpy<A extends NpyArray>(
  folder: string,
  { files }: Pick<VectorsManifest, 'files'>,
  name: string,
  shape: readonly number[],
): Promise<Npy<A>> {
  const path = join(folder, name)
  const mark = files[name]
  if (!mark) throw damaged(path, 'the manifest has no checksum for it')
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw damaged(path, 'it is missing, or no plain file')
  const bytes = found.size === mark.bytes ? await readFile(path) : undefined
  if (!bytes || hexOf(crc32(bytes)) !== mark.crc32)
    throw damaged(path, 'its checksum does not match: it was altered or cut off')
  const array = parseNpy(bytes)
  if (array?.shape.join() !== shape.join())
    throw damaged(
      path,
      `it has the shape (${array?.shape.join(', ') ?? 'none'}), the manifest says (${shape.join(', ')})`,
    )
  return array as Npy<A>
}
