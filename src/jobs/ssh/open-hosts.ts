/** @file All hosts of a job at once: connected, of one version, or every reason why not. */
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { EventSink } from '../../base/event/index.ts'
import { isUserError, makeOwnFolder, UserError } from '../../base/util/index.ts'
import { type Channel, openChannel, type SshOptions } from './channel.ts'
import { together } from './errors.ts'
import type { SshHost } from './host.ts'
import { installPackage } from './install.ts'
import { type Lacking, openRemoteHost, type RemoteHost } from './remote-host.ts'

export interface OpenHostsOptions extends Omit<SshOptions, 'folder'> {
  /** Of this package; hosts must have the same. */
  readonly version: string
  /** Ship this package to hosts that lack it. */
  readonly install: boolean
  readonly emit: EventSink
}

export interface Hosts {
  readonly all: readonly RemoteHost[]
  close(): Promise<void>
}

/** Every host is tried. Throws everything that is wrong at once; then none stays connected. */
export async function openHosts(hosts: readonly SshHost[], options: OpenHostsOptions): Promise<Hosts> {
  const folder = socketFolder()
  const channels: Channel[] = []
  const close = async () => {
    await Promise.all(channels.map(async (channel) => await channel.close()))
    rmSync(folder, { recursive: true, force: true })
  }
  const open = async (host: SshHost, i: number) => {
    const channel = await openChannel(host, String(i), { ...options, folder })
    channels.push(channel)
    return await withPackage(channel, options)
  }
  try {
    const all = await everyHost(hosts.map(open))
    refuseDifferentNodes(all)
    return {
      all,
      close: async () => {
        for (const host of all) host.close()
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The results of all, or one error of all that went wrong. */
export async function everyHost<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(work)
  const reasons = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  const unexpected = reasons.find((reason) => !isUserError(reason))
  if (unexpected !== undefined) throw unexpected
  if (reasons.length > 0) throw together(reasons as UserError[])
  return settled.map((one) => (one as PromiseFulfilledResult<T>).value)
}

async function withPackage(channel: Channel, { version, install, emit }: OpenHostsOptions): Promise<RemoteHost> {
  const first = await openRemoteHost(channel, version)
  if (first.kind === 'host') return first
  if (!install || first.lacks === 'node') throw lackingError(channel.host, first, version)
  emit({ kind: 'notice', message: `${channel.host.name}: installing oarfish ${version}` })
  await installPackage(channel, version)
  const second = await openRemoteHost(channel, version)
  if (second.kind === 'lacking') throw lackingError(channel.host, second, version)
  return second
}

function lackingError({ name }: SshHost, { lacks, found }: Lacking, version: string): UserError {
  if (lacks === 'node')
    return new UserError(`${name}: there is no node on the PATH of a command over ssh.`, {
      code: 'SSH_NODE',
      hint: `Install Node.js ${process.version} there; a PATH that only login shells set is not seen here.`,
    })
  const has = lacks === 'oarfish' ? 'oarfish is not installed' : `it has oarfish ${found}, here is ${version}`
  return new UserError(`${name}: ${has}.`, {
    code: 'SSH_VERSION',
    hint: 'Ship this package to such hosts: add --install',
  })
}

/** Numbers printed and computed by two versions of Node need not agree; a job has one. */
function refuseDifferentNodes(all: readonly RemoteHost[]): void {
  const versions = new Map<string, string[]>()
  for (const { host, hello } of all) versions.set(hello.node, [...(versions.get(hello.node) ?? []), host.name])
  if (versions.size < 2) return
  const list = [...versions].map(([node, names]) => `${node}: ${names.join(', ')}`)
  throw new UserError(`The hosts have different versions of Node.js.\n${list.join('\n')}`, {
    code: 'SSH_NODE',
    hint: 'Install the same on all of them.',
  })
}

const SOCKET_PATH = 80 // a unix socket's path has about 100 characters, and ssh adds some of its own

function socketFolder(): string {
  const base = tmpdir().length + 50 < SOCKET_PATH ? tmpdir() : '/tmp'
  return makeOwnFolder('ssh', base)
}
