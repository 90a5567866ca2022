/** @file Which ports of which hosts are the servers of a job, and in which order. Pure but for the names of interfaces. */
import { networkInterfaces } from 'node:os'
import { noInterface } from './errors.ts'
import type { TrainerOptions } from './option-table.ts'

type PortOptions = Pick<TrainerOptions, 'port' | 'ports_num' | 'ports_num_for_sparse'>

export interface ServerPlan {
  /** host:port of the first port of every host. */
  readonly hosts: readonly string[]
  /** host:port of every server by rank: first those of sparse tables, host after host, then those of dense weights. */
  readonly servers: readonly string[]
  /** How many of them hold tables; undefined: all hold both. */
  readonly tableServers?: number | undefined
  /** By host, the ranks of its ports in their order. */
  readonly ranks: readonly (readonly number[])[]
}

/** Each port of a host is a server of its own: --ports_num of dense weights, then --ports_num_for_sparse of tables. */
export function planServers({ pservers, ...options }: PortOptions & Pick<TrainerOptions, 'pservers'>): ServerPlan {
  const { ports_num: dense, ports_num_for_sparse: sparse } = options
  const hosts = pservers.split(',').map((host) => withPort(host.trim(), options.port))
  const at = (host: string, offset: number) => {
    const { name, port } = split(host)
    return `${name}:${port + offset}`
  }
  const ports = (count: number) => Array.from({ length: count }, (_, i) => i)
  const tables = hosts.flatMap((host) => ports(sparse).map((i) => at(host, dense + i)))
  const weights = hosts.flatMap((host) => ports(dense).map((i) => at(host, i)))
  const ranks = hosts.map((_, h) => [
    ...ports(dense).map((i) => tables.length + h * dense + i),
    ...ports(sparse).map((i) => h * sparse + i),
  ])
  return { hosts, servers: [...tables, ...weights], ranks, tableServers: sparse > 0 ? tables.length : undefined }
}

/** The address that a server listens at: that of --nics, or all. */
export function listenHost(nics: string): string {
  if (nics === '') return '0.0.0.0'
  const all = networkInterfaces()
  const addresses = nics.split(',').flatMap((name) => all[name.trim()] ?? [])
  const found = addresses.find(({ family }) => family === 'IPv4') ?? addresses[0]
  if (!found) throw noInterface(nics, Object.keys(all))
  return found.family === 'IPv6' ? `[${found.address}]` : found.address
}

function withPort(host: string, port: number): string {
  const isBareIpv6 = host.split(':').length > 2 && !host.startsWith('[')
  if (isBareIpv6) return `[${host}]:${port}`
  return /:\d+$/.test(host) ? host : `${host}:${port}`
}

function split(endpoint: string): { readonly name: string; readonly port: number } {
  const at = endpoint.lastIndexOf(':')
  return { name: endpoint.slice(0, at), port: Number(endpoint.slice(at + 1)) }
}
