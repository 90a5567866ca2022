/** @file A workspace to all hosts: what it holds, every file with its hash, and each host gets what it does not have yet. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type EventSink, paceLine } from '../../base/event/index.ts'
import { quoted, sizeText, UserError } from '../../base/util/index.ts'
import { hashOf } from './host-files.ts'
import { everyHost } from './open-hosts.ts'
import type { FileEntry } from './protocol.ts'
import type { RemoteHost } from './remote-host.ts'
import { upload } from './upload.ts'

export interface DispatchOptions {
  readonly hosts: readonly RemoteHost[]
  /** Here. */
  readonly from: string
  readonly manifest: Manifest
  /** There: the root of all jobs, and the folder of this one. */
  readonly root: string
  readonly folder: string
  readonly emit: EventSink
}

export async function dispatch(options: DispatchOptions): Promise<void> {
  const { hosts, manifest, folder, emit } = options
  const began = performance.now()
  const sent = await everyHost(hosts.map(async (host, i) => await dispatchTo(host, i, options))).catch(
    async (error) => {
      // Half a workspace is of no use, and the disk may be full of it.
      await Promise.allSettled(hosts.map(async ({ channel }) => await channel.run(`rm -rf ${quoted(folder)}`)))
      throw error
    },
  )
  const files = sent.reduce((sum, { files }) => sum + files, 0)
  const bytes = sent.reduce((sum, { bytes }) => sum + bytes, 0)
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const all = `${manifest.files.length} files (${sizeText(manifest.bytes)}) on ${hosts.length} hosts`
  emit({ kind: 'notice', message: `dispatched: ${all}, ${files} uploaded (${sizeText(bytes)}) in ${seconds} s` })
}

async function dispatchTo(host: RemoteHost, rank: number, { from, manifest, root, folder, emit }: DispatchOptions) {
  const { files, folders } = manifest
  const { missing } = await host.ask('take', { root, folder, files, folders })
  const wanted = new Set(missing)
  const bytes = files.reduce((sum, file) => sum + (wanted.has(file.path) ? file.bytes : 0), 0)
  const pace = paceLine(`${host.host.name}: uploading ${sizeText(bytes)},`, 'bytes')
  const show = (sent: number) => {
    const line = pace(sent, bytes)
    emit({ kind: 'output', role: 'worker', rank, line, echo: false })
  }
  if (missing.length > 0) await upload({ channel: host.channel, from, paths: missing, to: folder, onBytes: show })
  await host.ask('seal', { folder, files })
  return { files: missing.length, bytes }
}

/** Before anything is made: all hosts have room for all files. */
export function refuseFullDisks(
  hosts: readonly { readonly name: string; readonly freeBytes: number }[],
  bytes: number,
  root: string,
): void {
  const full = hosts.filter(({ freeBytes }) => freeBytes < bytes)
  if (full.length === 0) return
  const list = full.map(({ name, freeBytes }) => `${name}: ${root} has room for ${sizeText(freeBytes)}`)
  throw new UserError(`The workspace has ${sizeText(bytes)}, which is too much.\n${list.join('\n')}`, {
    code: 'SSH_DISK',
    hint: 'Remove folders of earlier jobs (JOB...) there, or choose another ROOT_DIR.',
  })
}

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
