/** @file Which hosts of a list are this one: by interface address, by host name, by what a name resolves to, or by POD_IP. */
import { lookup } from 'node:dns/promises'
import { hostname, networkInterfaces } from 'node:os'
import { loopbackAmongHosts, notThisHost } from './errors.ts'

const LOOKUP_MS = 3000

export interface ThisHost {
  readonly addresses: readonly string[]
  readonly names: readonly string[]
  /** The addresses of a name; empty when there is none. */
  readonly resolve: (name: string) => Promise<readonly string[]>
  /** POD_IP: which entry of a list this host is, where addresses do not show it (behind a translated address). */
  readonly named: string | undefined
}

export function thisHost(podIp: string | undefined): ThisHost {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
  const full = hostname()
  const names = [...new Set(['localhost', full, full.split('.')[0]!])]
  return { addresses: [...new Set(['127.0.0.1', ...addresses])], names, resolve, named: podIp || undefined }
}

/** The hosts that are this one. Throws when none is, and when a loopback address stands beside another machine's. */
export async function localHosts(hosts: readonly string[], here: ThisHost): Promise<ReadonlySet<string>> {
  const all = [...new Set(hosts)]
  if (all.length > 1 && here.named !== undefined && all.includes(here.named)) return new Set([here.named])
  const answers = await Promise.all(all.map((host) => isHere(host, here)))
  const local = all.filter((_, i) => answers[i] === 'here')
  if (local.length === 0) {
    const unresolved = all.filter((_, i) => answers[i] === 'unknown')
    throw notThisHost(all, [...here.names, ...here.addresses.filter((address) => !isLoopback(address))], unresolved)
  }
  const [loopback, other] = [all.find(isLoopback), all.find((_, i) => answers[i] !== 'here')]
  if (loopback !== undefined && other !== undefined) throw loopbackAmongHosts(loopback, other)
  return new Set(local)
}

async function isHere(host: string, here: ThisHost): Promise<'here' | 'elsewhere' | 'unknown'> {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  const isOwn = (address: string) => isLoopback(address) || here.addresses.includes(address)
  if (isOwn(bare) || here.names.includes(bare)) return 'here'
  if (isAddress(bare)) return 'elsewhere'
  const resolved = await here.resolve(bare)
  if (resolved.length === 0) return 'unknown'
  return resolved.some(isOwn) ? 'here' : 'elsewhere'
}

function isLoopback(host: string): boolean {
  return /^127\.\d+\.\d+\.\d+$/.test(host) || host === '::1' || host === '[::1]' || host === 'localhost'
}

function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(':')
}

/** Bounded, since a name server that does not answer would otherwise hold up the start for half a minute. */
async function resolve(name: string): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly string[]>((done) => {
    timer = setTimeout(done, LOOKUP_MS, [])
  })
  const found = lookup(name, { all: true }).then(
    (entries) => entries.map(({ address }) => address),
    () => [],
  )
  return await Promise.race([found, late]).finally(() => clearTimeout(timer))
}
