/** @file Files by path or address: those of this machine, and those of HDFS or S3 where a path says so. */
import { fileURLToPath } from 'node:url'
import { getEnvironmentData } from 'node:worker_threads'
import { shareWithThreads, UserError } from '../util/index.ts'
import type { FileSystem, ReadFile } from './file-system.ts'
import { localFiles } from './local.ts'
import { type RemoteFiles, remoteFiles } from './remote.ts'

/** `hdfs://host/path`, `afs:/path`, `s3://bucket/path`. */
export const isRemotePath = (path: string) => /^(hdfs|afs|s3):/.test(path)

export const anyFiles: FileSystem = {
  list: async (folder) =>
    isRemotePath(folder)
      ? await listRemote(folder, (path) => !path.includes('/'))
      : await localFiles.list(local(folder)),
  size: (path) => (isRemotePath(path) ? sizeOf(path) : localFiles.size(local(path))),
  open: async (path) => (isRemotePath(path) ? await openRemote(path) : await localFiles.open(local(path))),
}

const local = (path: string) => (path.startsWith('file:') ? fileURLToPath(path) : path)

export interface FileAccess {
  /** As `fs_name`: for addresses without a host, and for how a bucket of S3 is reached. */
  readonly name?: string | undefined
  /** As `fs_ugi`. */
  readonly ugi?: string | undefined
}

interface Known extends FileAccess {
  /** Bytes of files that were listed, by address. */
  readonly sizes: Map<string, number>
}

const KEY = 'oarfish file access'

const known = (): Known => (getEnvironmentData(KEY) as Known | undefined) ?? { sizes: new Map() }

/** Holds for this thread and those started later; what was set first stays. */
export function setFileAccess({ name, ugi }: FileAccess): void {
  const before = known()
  const access: Known = { sizes: before.sizes, name: before.name || name, ugi: before.ugi || ugi }
  shareWithThreads(KEY, access)
}

/** Addresses of the files below a folder (or of the one file) whose path below it is wanted, in order; their sizes are known from then on. */
export async function listRemote(folder: string, isWanted: (path: string) => boolean): Promise<readonly string[]> {
  const { files, below } = located(folder)
  const found = (await files.list(below)).filter(({ path }) => isWanted(path))
  const { sizes, ...access } = known()
  const addresses = found.map(({ path, bytes }) => {
    const address = path === '' ? folder : `${folder.replace(/\/+$/, '')}/${path}`
    sizes.set(address, bytes)
    return address
  })
  shareWithThreads(KEY, { ...access, sizes })
  return addresses
}

function located(address: string): { readonly files: RemoteFiles; readonly below: string } {
  const { name = '', ugi } = known()
  const [, scheme = '', host = '', below = ''] = /^(\w+:)(?:\/\/([^/]*))?(.*)$/s.exec(address) ?? []
  if (/[?&](endpoint|region)=/.test(below) || host.includes('?'))
    throw new UserError(`${address}: an address of data has no ?...`, {
      code: 'FS_ADDRESS',
      hint: `Set runner.fs_name, or the variable OARFISH_FS_NAME, to ${scheme}//${host.split('?')[0]}?..., and write the data as ${address.split('?')[0]}.`,
    })
  if (host === '' && name === '')
    throw new UserError(`${address} names no host.`, {
      code: 'FS_ADDRESS',
      hint: `Write ${scheme}//HOST:PORT${below}, or set runner.fs_name (or the variable OARFISH_FS_NAME) to the file system.`,
    })
  const base = `${scheme}//${host}`
  const isNamed = host === '' || name.split(/[?]/)[0]!.replace(/\/$/, '') === base
  return { files: remoteFiles(isNamed ? name : base, { ugi }), below }
}

function sizeOf(address: string): number {
  const bytes = known().sizes.get(address)
  if (bytes === undefined) throw new Error('its size is not known, because its folder was not listed')
  return bytes
}

const LEAST_BYTES = 1024 * 1024 // small reads that follow each other are one request

async function openRemote(address: string): Promise<ReadFile> {
  const { files, below } = located(address)
  const bytes = known().sizes.get(address) ?? (await files.list(below))[0]!.bytes
  let [from, block]: [number, Uint8Array] = [0, new Uint8Array(0)]
  return {
    bytes,
    read: async (target, position) => {
      const length = Math.min(target.length, Math.max(0, bytes - position))
      if (length === 0) return 0
      if (position < from || position + length > from + block.length) {
        block = await files.readRange(below, position, Math.min(Math.max(length, LEAST_BYTES), bytes - position))
        from = position
      }
      const found = block.subarray(position - from, position - from + length)
      target.set(found)
      return found.length
    },
    close: async () => undefined,
  }
}
