/** @file What a folder holds: every file with its hash. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../util/index.ts'
import { hashOf } from './host-files.ts'
import type { FileEntry } from './protocol.ts'

export interface Manifest {
  readonly files: readonly FileEntry[]
  /** Also those without a file. */
  readonly folders: readonly string[]
  readonly bytes: number
}

/** Names that begin with a dot stay here, as they do for a shell's `*`, and so do logs: those of a job are its own. */
export async function manifestOf(folder: string): Promise<Manifest> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UserError(`--job_dispatch_package: there is no folder ${folder}.`, {
      code: 'SSH_PACKAGE',
      hint: 'It is the folder of trainer_config.ts and its data, relative to where you run the command.',
    })
  const { files, folders } = walk(folder, '')
  const entries: FileEntry[] = []
  for (const path of files) {
    const { size, mode } = statSync(join(folder, path))
    entries.push({ path, bytes: size, sha256: await hashOf(join(folder, path)), executable: (mode & 0o100) !== 0 })
  }
  return { files: entries, folders, bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0) }
}

interface Walked {
  readonly files: readonly string[]
  readonly folders: readonly string[]
}

function walk(root: string, below: string): Walked {
  const names = readdirSync(join(root, below)).filter(
    (name) => below !== '' || !(name.startsWith('.') || name === 'log'),
  )
  const found = names.sort().map((name): Walked => {
    const path = below === '' ? name : `${below}/${name}`
    const stats = statSync(join(root, path), { throwIfNoEntry: false })
    if (!stats) return { files: [], folders: [] } // a link to nowhere
    if (!stats.isDirectory()) return { files: stats.isFile() ? [path] : [], folders: [] }
    const inside = walk(root, path)
    return { files: inside.files, folders: [path, ...inside.folders] }
  })
  return { files: found.flatMap(({ files }) => files), folders: found.flatMap(({ folders }) => folders) }
}
