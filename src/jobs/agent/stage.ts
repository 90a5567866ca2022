/** @file A node's data: its share of the training and test files, all of the third-party files; and the way back for what it wrote. */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { RemoteFile, RemoteFiles } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { JobData } from '../submit/index.ts'

/** Folders of a node that hold what it was given. */
export const STAGED = { train: 'train_data', test: 'test_data', thirdparty: 'thirdparty' } as const

export interface StageOptions {
  readonly files: RemoteFiles
  readonly data: JobData
  readonly folder: string
  readonly node: number
  readonly nodes: number
  readonly say: (line: string) => void
}

export async function stageData({ files, data, folder, node, nodes, say }: StageOptions): Promise<void> {
  for (const [what, name] of Object.entries(STAGED) as [keyof typeof STAGED, string][]) {
    const path = data[what]
    if (path === undefined) continue
    const all = await files.list(path)
    const mine = what === 'thirdparty' ? all : shareOf(all, node, nodes)
    for (const file of mine)
      await fetchFile(files, { ...file, path: join(path, file.path) }, join(folder, name, file.path || basename(path)))
    const bytes = mine.reduce((sum, file) => sum + file.bytes, 0)
    say(`./${name}: ${mine.length} of ${all.length} files of ${path}, ${bytes} bytes`)
  }
}

/**
 * File k belongs to node k mod nodes. With fewer files than nodes every node gets all: equal lists are dealt out by the trainers, sample
 * by sample.
 */
export function shareOf(all: readonly RemoteFile[], node: number, nodes: number): readonly RemoteFile[] {
  return all.length < nodes ? all : all.filter((_file, k) => k % nodes === node)
}

async function fetchFile(files: RemoteFiles, { path: from, bytes }: RemoteFile, to: string): Promise<void> {
  await onDisk(to, async () => {
    await mkdir(dirname(to), { recursive: true })
    await tried(async () => await pipeline(Readable.from(files.read(from)), createWriteStream(to)))
  })
  const { size } = await stat(to)
  if (size !== bytes) throw new Error(`${from} has ${bytes} bytes, of which ${size} came`)
}

/** A node whose disk is full says so, and which node it is. */
export async function onDisk(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    throw new UserError(`The disk of ${hostname()} is full: there is no room for ${path}.`, {
      code: 'AGENT_DISK_FULL',
      hint: `Make room in ${dirname(path)}, or set OARFISH_WORK on the nodes to a folder of a larger disk.`,
      cause: error,
    })
  }
}

/** What lies in a folder and was not put there: relative paths, in order. */
export async function newFiles(folder: string, given: ReadonlySet<string>): Promise<readonly string[]> {
  const staged: readonly string[] = [...Object.values(STAGED), '.oarfish', 'afs']
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !given.has(path) && !staged.includes(path.split(sep)[0]!))
    .sort()
}

const ATTEMPTS = 3
const AGAIN = ['FS_UNREACHABLE', 'FS_CHECKSUM']

/** Again from its beginning where the connection breaks or bytes were changed on their way. */
async function tried(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!AGAIN.includes((error as UserError).code) || attempt === ATTEMPTS) throw error
    }
  }
}

/** A file appears whole or not at all. */
export async function sendFile(files: RemoteFiles, from: string, to: string): Promise<void> {
  const { size } = await stat(from)
  await tried(async () => await files.write(to, piecesOf(from)))
  const [there] = await files.list(to)
  if (there?.bytes !== size) throw new Error(`${to} has ${there?.bytes ?? 0} bytes, ${size} were sent`)
}

/** Opened when the first piece is asked for. */
async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, { highWaterMark: 1 << 20 })
}
