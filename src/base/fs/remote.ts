/** @file Files of a job's file system, wherever it is: listed, read as a stream, written whole. One owner for `file://`, `hdfs://`, `s3://`. */
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../util/index.ts'
import { hdfsFiles } from './hdfs.ts'
import { s3Files } from './s3.ts'

export interface RemoteFile {
  /** Relative to the folder that was listed. */
  readonly path: string
  readonly bytes: number
}

export interface RemoteFiles {
  /** All files below a folder, in code-unit order; a path of a file lists that file. Throws when there is nothing. */
  list(folder: string): Promise<readonly RemoteFile[]>
  read(path: string): AsyncIterable<Uint8Array>
  /** `length` bytes from `from` on; fewer only at the end. */
  readRange(path: string, from: number, length: number): Promise<Uint8Array>
  /** The file is there whole or not at all. */
  write(path: string, content: AsyncIterable<Uint8Array>): Promise<void>
}

export interface RemoteOptions {
  /** `user,password`, or `user`. */
  readonly ugi?: string | undefined
}

type Opener = (url: URL, options: RemoteOptions) => RemoteFiles

const SCHEMES: Readonly<Record<string, Opener>> = {
  'file:': (url) => localRemote(fileURLToPath(url)),
  'hdfs:': hdfsFiles,
  'afs:': hdfsFiles,
  's3:': s3Files,
}

/** The file system that `fs_name` names; paths given to it are below it. */
export function remoteFiles(name: string, options: RemoteOptions = {}): RemoteFiles {
  const url = URL.canParse(name) ? new URL(name) : undefined
  const opener = url && SCHEMES[url.protocol]
  if (opener) return opener(url, options)
  throw new UserError(`${name}: not a file system that can be reached.`, {
    code: 'FS_UNKNOWN',
    hint: `Write it as one of ${Object.keys(SCHEMES)
      .map((scheme) => `${scheme}//...`)
      .join(', ')}`,
  })
}

function localRemote(root: string): RemoteFiles {
  return {
    list: async (folder) => await listLocal(join(root, folder)),
    read: (path) => createReadStream(join(root, path), { highWaterMark: 1 << 20 }),
    readRange: async (path, from, length) => {
      const file = await open(join(root, path))
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from)
        return buffer.subarray(0, bytesRead)
      } finally {
        await file.close()
      }
    },
    write: async (path, content) => await writeLocal(join(root, path), content),
  }
}

async function listLocal(folder: string): Promise<readonly RemoteFile[]> {
  const top = await stat(folder).catch(() => undefined)
  if (!top)
    throw new UserError(`${folder}: there is no such folder.`, {
      code: 'FS_NOT_FOUND',
      hint: 'Check the path; it is below fs_name.',
    })
  if (top.isFile()) return [{ path: '', bytes: top.size }]
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() || entry.isSymbolicLink())
  const sized = files.map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    const stats = await stat(path)
    return stats.isFile() ? [{ path: path.slice(folder.replace(/\/$/, '').length + 1), bytes: stats.size }] : []
  })
  return (await Promise.all(sized)).flat().sort((a, b) => (a.path < b.path ? -1 : 1))
}

async function writeLocal(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const aside = `${path}.${process.pid}.part`
  const file = await open(aside, 'w')
  try {
    for await (const piece of content) await file.writeFile(piece)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(aside, path)
}
