/** @file A workspace to all hosts: each gets what it does not have yet. */
import type { EventSink } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { quote } from './channel.ts'
import type { Manifest } from './manifest.ts'
import { everyHost } from './open-hosts.ts'
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
      await Promise.allSettled(hosts.map(async ({ channel }) => await channel.run(`rm -rf ${quote(folder)}`)))
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
  const show = (sent: number) => {
    const line = `${host.host.name}: uploading, ${Math.min(100, Math.round((100 * sent) / Math.max(1, bytes)))} % of ${sizeText(bytes)}`
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

export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}
