/** @file Where published versions lie: a folder of this machine, or an address of HDFS or S3, of which what is needed is copied here. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { anyFiles, contentOf, isRemotePath } from '../../base/fs/index.ts'
import { isUserError, makeOwnFolder } from '../../base/util/index.ts'
import { CURRENT_FILE, checkedModel, DENSE_FOLDER, type DenseWeights, parseDense, readDense } from './dense.ts'
import { notPublished } from './errors.ts'
import { parseVersions, VERSIONS_FILE, type Version } from './log.ts'

export interface VersionSource {
  /** As they are now; throws where nothing was published. */
  versions(): Promise<readonly Version[]>
  /** A folder of this machine with the files of a version. */
  folder(version: Version): Promise<string>
  /** Dense weights that were published behind a version; undefined: none were. */
  dense(): Promise<DenseWeights | undefined>
  /** The graph with these weights; throws where it is not whole. */
  denseModel(dense: DenseWeights): Promise<Uint8Array>
  /** What was copied is no longer needed, but for this version. */
  forget(kept: readonly Version[]): Promise<void>
}

export function openVersions(root: string): VersionSource {
  return isRemotePath(root) ? remoteVersions(root.replace(/\/+$/, '')) : localVersions(root)
}

function localVersions(root: string): VersionSource {
  return {
    versions: async () => {
      const text = await readFile(join(root, VERSIONS_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' || error.code === 'ENOTDIR' ? notPublished(root) : error
      })
      return parseVersions(text, root)
    },
    folder: async ({ path }) => join(root, path),
    dense: () => readDense(root),
    denseModel: async (dense) => {
      const file = join(root, DENSE_FOLDER, dense.path)
      return checkedModel(dense, await readFile(file), file)
    },
    forget: async () => undefined,
  }
}

function remoteVersions(root: string): VersionSource {
  let made: string | undefined
  const copies = () => {
    made ??= makeOwnFolder('files')
    return made
  }
  const placeOf = ({ id, path }: Version) =>
    join(copies(), createHash('sha256').update(`${path} ${id}`).digest('hex').slice(0, 16))
  const copied = new Set<string>()
  return {
    versions: async () => {
      const file = `${root}/${VERSIONS_FILE}`
      // Listed anew each time: its size is known from there.
      await anyFiles.list(file).catch((error: unknown) => {
        throw isUserError(error) && error.code === 'FS_NOT_FOUND' ? notPublished(root) : error
      })
      return parseVersions((await bytesOf(file)).toString('utf8'), root)
    },
    folder: async (version) => {
      const place = placeOf(version)
      if (copied.has(place)) return place
      const aside = `${place}.part`
      await rm(aside, { recursive: true, force: true })
      await mkdir(aside, { recursive: true })
      for (const file of await anyFiles.list(`${root}/${version.path}`))
        await writeFile(join(aside, basename(file)), await bytesOf(file))
      await rm(place, { recursive: true, force: true })
      await rename(aside, place)
      copied.add(place)
      return place
    },
    dense: async () => {
      const file = `${root}/${DENSE_FOLDER}/${CURRENT_FILE}`
      const isThere = await anyFiles.list(file).then(
        () => true,
        (error: unknown) => {
          if (isUserError(error) && error.code === 'FS_NOT_FOUND') return false
          throw error
        },
      )
      return isThere ? parseDense((await bytesOf(file)).toString('utf8'), file) : undefined
    },
    denseModel: async (dense) => {
      const file = `${root}/${DENSE_FOLDER}/${dense.path}`
      await anyFiles.list(file)
      return checkedModel(dense, await bytesOf(file), file)
    },
    forget: async (kept) => {
      const needed = new Set(kept.map(placeOf))
      for (const place of copied) {
        if (needed.has(place)) continue
        copied.delete(place)
        await rm(place, { recursive: true, force: true })
      }
    },
  }
}

async function bytesOf(path: string): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of contentOf(anyFiles, path)) pieces.push(piece.slice())
  return Buffer.concat(pieces)
}
